"""The database connection that a process keeps: whether it lives, and whether it can write."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from django.db import OperationalError, close_old_connections, connection

from workers.exceptions import AWAY

#: Time for which a connection that was looked at counts as alive.
TRUSTED_SECONDS = 1.0


class _Look(threading.local):
    """When the connection was last looked at; each thread has its own, as it has of those."""

    def __init__(self) -> None:
        self.at = float("-inf")

    def is_recent(self) -> bool:
        return monotonic() - self.at < TRUSTED_SECONDS


_look = _Look()


@contextmanager
def kept() -> Iterator[None]:
    """Run a task on the kept connection; one that is broken or too old is replaced first.

    Django asks the database whether a kept connection lives, which is a round trip for each
    task.  It is asked once in ``TRUSTED_SECONDS``, and always where a task left the connection
    in the middle of something; after a task that raised there is a new one.  A connection that
    dies in between fails its next task, which is delivered again or left to the next look.
    """
    if not (_look.is_recent() and _is_at_rest()):
        close_old_connections()
        _look.at = monotonic()
    try:
        yield
    except BaseException:
        _look.at = float("-inf")
        if not connection.in_atomic_block:
            connection.close()
        raise


def require_writable() -> None:
    """Raise ``OperationalError`` where the database cannot be written to; nothing is written."""
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            # It begins to write, which is all that SQLite can be asked.
            cursor.execute("DELETE FROM django_migrations WHERE 1 = 0")
            return
        cursor.execute("SHOW transaction_read_only")
        if cursor.fetchone() != ("off",):
            raise OperationalError("the session is read-only")


def is_read_only(error: BaseException) -> bool:
    """Say whether a database refused something because it cannot be written to.

    PostgreSQL has a code for a statement of which that is true; libpq, for a connection that must
    be able to write, and SQLite say it in words.
    """
    if getattr(error.__cause__, "sqlstate", None) == "25006":
        return True
    return "session is read-only" in str(error) or "readonly database" in str(error)


def is_outage(error: BaseException) -> bool:
    """Say whether an error tells that PostgreSQL is away, and not of a statement that failed there.

    Those have a code: a deadlock or serialization (40), a lock not had (55), a time limit (57014).
    """
    if not isinstance(error, AWAY) or isinstance(error.__cause__, sqlite3.Error):
        return False
    code = getattr(error.__cause__, "sqlstate", None) or ""
    return not code.startswith(("40", "55", "57014"))


def _is_at_rest() -> bool:
    """Say whether nothing is under way on the connection, as far as this side knows."""
    if connection.connection is None or connection.errors_occurred:
        return False
    if connection.in_atomic_block or not connection.autocommit:
        return False
    if connection.vendor != "postgresql":
        return True
    return bool(connection.connection.pgconn.transaction_status == 0)
