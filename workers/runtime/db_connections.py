"""Database connections: the one that a process keeps, and those that an agent's call opens."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from django.db import Error, OperationalError, close_old_connections, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from workers.exceptions import AWAY, sqlstate

#: Time for which a connection that was looked at counts as alive.
TRUSTED_SECONDS = 1.0


#: Held while a process forks, and while a thread beside the forking one uses SQLite.
_forking = threading.Lock()
os.register_at_fork(
    before=_forking.acquire,
    after_in_parent=_forking.release,
    after_in_child=_forking.release,
)


@contextmanager
def apart_from_forks() -> Iterator[None]:
    """Keep this process from forking while a block opens, uses and closes SQLite connections.

    For threads of a worker's parent.  A child inherits what is open, closes it, and may damage the
    file where that was in the middle of a write.  Does nothing on PostgreSQL.
    """
    if connection.vendor != "sqlite":
        yield
        return
    with _forking:
        yield


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
        if not (_is_at_rest() or connection.in_atomic_block):
            # Whatever its age may be: a statement's answer was not read, or a commit is missing.
            connection.close()
        _look.at = monotonic()
    try:
        yield
    except BaseException:
        _look.at = float("-inf")
        if not connection.in_atomic_block:
            connection.close()
        raise


@contextmanager
def closed_after() -> Iterator[None]:
    """Close after a block every connection that it has opened in this thread.

    For an agent's call: nobody looks at the connections of its thread before the next one, which
    would fail on what a restart of the database has cut off, and idle ones would stay open.
    """
    before = {wrapper.alias for wrapper in _open()}
    try:
        yield
    finally:
        for wrapper in _open():
            if wrapper.alias not in before and not wrapper.in_atomic_block:
                with suppress(Error):
                    wrapper.close()


def _open() -> list[BaseDatabaseWrapper]:
    """Return the connections of this thread that are open."""
    initialized = connections.all(initialized_only=True)
    return [wrapper for wrapper in initialized if wrapper.connection is not None]


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


#: Rows of a sort of its own that take more than the memory that it is given: about 100 KB.
_ROWS_THAT_SPILL = 8_000


def require_room() -> None:
    """Raise ``OperationalError`` where the database's disk is full; nothing stays there.

    A server whose disk is full says that it can be written to, and takes changes that fit into
    pages it has.  So it is asked for a temporary file on the disk of its tables.  SQLite needs
    room for any change.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        # One message, and so one transaction: what is set is over with it.
        cursor.execute(
            "SET LOCAL work_mem = '64kB'; SET LOCAL temp_tablespaces = '';"
            f" SELECT count(*) FROM generate_series(1, {_ROWS_THAT_SPILL})"
        )


def is_read_only(error: BaseException) -> bool:
    """Say whether a database refused something because it cannot be written to.

    PostgreSQL has a code for a statement of which that is true; libpq, for a connection that must
    be able to write, and SQLite say it in words.
    """
    if sqlstate(error) == "25006":
        return True
    return "session is read-only" in str(error) or "readonly database" in str(error)


def is_outage(error: BaseException) -> bool:
    """Say whether an error tells that PostgreSQL is away, and not of a statement that failed there.

    Those have a code: a deadlock or serialization (40), a lock not had (55), a time limit (57014).
    """
    if not isinstance(error, AWAY) or isinstance(error.__cause__, sqlite3.Error):
        return False
    return not sqlstate(error).startswith(("40", "55", "57014"))


def _is_at_rest() -> bool:
    """Say whether nothing is under way on the connection, as far as this side knows."""
    if connection.connection is None or connection.errors_occurred:
        return False
    if connection.in_atomic_block or not connection.autocommit:
        return False
    if connection.vendor != "postgresql":
        return True
    return bool(connection.connection.pgconn.transaction_status == 0)
