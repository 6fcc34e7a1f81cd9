"""A connection to the broker for looking at it: bounded, and closed whatever happens."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

from celery import current_app

from workers.desk.doctor.finding import Finding
from workers.exceptions import in_a_line

#: kombu's transports with a server, by their driver.
AMQP, REDIS, FILES = "amqp", "redis", "filesystem"
CONNECT_SECONDS = 3.0


class Unreachable(Exception):
    """There is no connection to the broker; says why."""


@contextmanager
def connected() -> Iterator[Any]:
    """Yield a connection of one's own; raise ``Unreachable`` where there is none."""
    connection = current_app.connection_for_write(connect_timeout=CONNECT_SECONDS)
    try:
        try:
            connection.connect()
        except Exception as failure:
            said = in_a_line(failure, 200)
            raise Unreachable(said) from failure
        yield connection
    finally:
        # It is over either way.
        with suppress(Exception):
            connection.release()


def kind(connection: Any) -> str:
    """Return amqp, redis, filesystem..."""
    return str(connection.transport.driver_type)


def broker_is(wanted: str) -> bool:
    """Say whether the broker is of a kind, by its address alone."""
    try:
        return kind(current_app.connection_for_write()) == wanted
    except Exception:  # noqa: BLE001 (each transport has errors of its own)
        # Another probe tells of an address that names no broker.
        return False


def while_connected(
    look: Callable[[Any], Iterable[Finding]],
) -> Callable[[], Iterable[Finding]]:
    """Give a look its connection; without one it has nothing to say, for another probe says so.

    So it is where the broker takes nothing because it is in alarm.
    """

    @wraps(look)
    def connecting() -> Iterable[Finding]:
        try:
            with connected() as connection:
                alarms = alarms_of(connection)
                try:
                    return list(look(connection))
                except Exception:
                    # To close it properly would wait for a broker that reads nothing.
                    connection.collect()
                    if alarms:
                        return []
                    raise
        except Unreachable:
            return []

    return connecting


def alarms_of(connection: Any) -> list[str]:
    """Return a list that gets the reason of RabbitMQ's alarm as soon as it tells one.

    It says so once a message comes, and reads nothing more.
    """
    alarms: list[str] = []
    if kind(connection) == AMQP:
        connection.connection.on_blocked = alarms.append
    return alarms
