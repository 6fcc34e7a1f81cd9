"""The database connection that a worker's process keeps between tasks."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from django.db import close_old_connections, connection

#: Time for which a connection that was looked at counts as alive.
TRUSTED_SECONDS = 1.0


class _Look:
    """When this process's connection was last looked at; a forked child looks at its own."""

    def __init__(self) -> None:
        self.at = float("-inf")

    def is_recent(self) -> bool:
        return monotonic() - self.at < TRUSTED_SECONDS


_look = _Look()


@contextmanager
def kept() -> Iterator[None]:
    """Run a task on the kept connection; one that is dead, broken or too old is replaced first.

    Django asks the database whether a kept connection lives, which is a round trip for each
    task.  It is asked once in ``TRUSTED_SECONDS``, and always after a task that raised or left
    the connection in the middle of something.  A connection that dies in between fails its
    next task, whose message is delivered again.
    """
    if not (_look.is_recent() and _is_at_rest()):
        close_old_connections()
        _look.at = monotonic()
    try:
        yield
    except BaseException:
        _look.at = float("-inf")
        raise


def _is_at_rest() -> bool:
    """Say whether nothing is under way on the connection, as far as this side knows."""
    if connection.connection is None or connection.errors_occurred or connection.in_atomic_block:
        return False
    if connection.vendor != "postgresql":
        return True
    return bool(connection.connection.pgconn.transaction_status == 0)
