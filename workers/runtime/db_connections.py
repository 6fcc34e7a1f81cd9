"""Database connections: one that a process keeps, and those that an agent's call opens."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from django.db import Error, OperationalError, close_old_connections, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from workers.exceptions import AWAY, sqlstate

#: How long a connection counts as alive after a check.
TRUSTED_SECONDS = 1.0


#: Held while a process forks, and while another thread uses SQLite.
_forking = threading.Lock()
os.register_at_fork(
    before=_forking.acquire,
    after_in_parent=_forking.release,
    after_in_child=_forking.release,
)


@contextmanager
def apart_from_forks() -> Iterator[None]:
    """Keep this process from forking while a block opens, uses and closes SQLite connections.

    For threads of a worker's parent.  A child inherits open connections, closes them, and may
    damage the file during a write.  Does nothing on PostgreSQL.
    """
    if connection.vendor != "sqlite":
        yield
        return
    with _forking:
        yield


class _Look(threading.local):
    """When this thread's connection was last checked."""

    def __init__(self) -> None:
        self.at = float("-inf")

    def is_recent(self) -> bool:
        return monotonic() - self.at < TRUSTED_SECONDS


_look = _Look()


@contextmanager
def kept() -> Iterator[None]:
    """Run a task on the kept connection; replace it first if it is broken or too old.

    Django would check a kept connection before each task, which costs a round trip.  Here it is
    checked once in ``TRUSTED_SECONDS``, and whenever a task left it in the middle of a statement
    or transaction; after a task that raised, a new one is opened.  If it dies in between, its next
    task fails, and is delivered again or left to the next look.
    """
    if not (_look.is_recent() and _is_at_rest()):
        close_old_connections()
        if not (_is_at_rest() or connection.in_atomic_block):
            # Whatever its age: an answer was not read, or a commit is missing.
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
    """Close every connection that a block has opened in this thread.

    For an agent's call: its thread's connections are not checked before the next call, which would
    fail after a restart of the database, and idle ones would stay open.
    """
    open_before = {wrapper.alias for wrapper in _open()}
    try:
        yield
    finally:
        for wrapper in _open():
            if wrapper.alias not in open_before and not wrapper.in_atomic_block:
                with suppress(Error):
                    wrapper.close()


def _open() -> list[BaseDatabaseWrapper]:
    """Return the connections of this thread that are open."""
    initialized = connections.all(initialized_only=True)
    return [wrapper for wrapper in initialized if wrapper.connection is not None]


def require_writable() -> None:
    """Raise ``OperationalError`` if the database cannot be written to; writes nothing."""
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            # Begins a write transaction, which is the only check that SQLite offers.
            cursor.execute("DELETE FROM django_migrations WHERE 1 = 0")
            return
        cursor.execute("SHOW transaction_read_only")
        if cursor.fetchone() != ("off",):
            raise OperationalError("the session is read-only")


#: Enough rows to exceed the memory that the sort is given: about 100 KB.
_ROWS_THAT_SPILL = 8_000


def require_room() -> None:
    """Raise ``OperationalError`` if the database's disk is full; leaves nothing there.

    A server with a full disk still reports that it is writable, and takes changes that fit into
    existing pages.  So this makes it write a temporary file on the disk of its tables.  SQLite
    needs space for any change.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        # One message, so one transaction: the settings end with it.
        cursor.execute(
            "SET LOCAL work_mem = '64kB'; SET LOCAL temp_tablespaces = '';"
            f" SELECT count(*) FROM generate_series(1, {_ROWS_THAT_SPILL})"
        )


def is_read_only(error: BaseException) -> bool:
    """Say whether a database refused a statement because it is read-only.

    PostgreSQL has an error code for a statement; libpq, for a connection that must be writable, and
    SQLite only have messages.
    """
    if sqlstate(error) == "25006":
        return True
    return "session is read-only" in str(error) or "readonly database" in str(error)


def is_outage(error: BaseException) -> bool:
    """Say whether an error means that PostgreSQL is unavailable, not that a statement failed.

    Failures have a code: deadlock or serialization (40), lock not available (55), timeout (57014).
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
