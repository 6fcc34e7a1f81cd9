"""A connection to the broker for probes: bounded in time, and closed whatever happens."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

from celery import current_app

from workers.exceptions import in_a_line
from workers.ops.doctor.finding import Finding

#: Driver types of kombu's transports.
AMQP, REDIS, FILES = "amqp", "redis", "filesystem"
CONNECT_SECONDS = 3.0


class Unreachable(Exception):
    """The broker cannot be reached; the message says why."""


@contextmanager
def connected() -> Iterator[Any]:
    """Yield a connection of the caller's own; raise ``Unreachable`` if there is none."""
    connection = current_app.connection_for_write(connect_timeout=CONNECT_SECONDS)
    try:
        try:
            connection.connect()
        except Exception as failure:
            raise Unreachable(in_a_line(failure, 200)) from failure
        yield connection
    finally:
        # An error no longer matters.
        with suppress(Exception):
            connection.release()


def kind(connection: Any) -> str:
    """Return the transport's driver type: amqp, redis, filesystem..."""
    return str(connection.transport.driver_type)


def broker_is(driver_type: str) -> bool:
    """Say whether the broker is of a kind, by its address alone."""
    try:
        return kind(current_app.connection_for_write()) == driver_type
    except Exception:  # noqa: BLE001 (each transport has errors of its own)
        # Another probe reports an address that names no broker.
        return False


def while_connected(
    look: Callable[[Any], Iterable[Finding]],
) -> Callable[[], Iterable[Finding]]:
    """Pass a connection to a probe; without one it finds nothing, since another probe reports that.

    It also finds nothing if it fails while the broker is in alarm.
    """

    @wraps(look)
    def connecting() -> Iterable[Finding]:
        try:
            with connected() as connection:
                alarms = alarms_of(connection)
                try:
                    return list(look(connection))
                except Exception:
                    # A proper close would wait for a broker that reads nothing.
                    connection.collect()
                    if alarms:
                        return []
                    raise
        except Unreachable:
            return []

    return connecting


def alarms_of(connection: Any) -> list[str]:
    """Return a list to which the reason of RabbitMQ's alarm is added when it reports one.

    RabbitMQ reports it once a message comes, and reads nothing more.
    """
    alarms: list[str] = []
    if kind(connection) == AMQP:
        connection.connection.on_blocked = alarms.append
    return alarms
