"""A connection to the broker for looking at it: bounded, and closed whatever happens."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

from celery import current_app

from workers.doctor.finding import Finding
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
    """Give a look its connection; without one it has nothing to say, for another probe says so."""

    @wraps(look)
    def connecting() -> Iterable[Finding]:
        try:
            with connected() as connection:
                return list(look(connection))
        except Unreachable:
            return []

    return connecting
