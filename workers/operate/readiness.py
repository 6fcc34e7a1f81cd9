"""Check whether a process can take work: the database answers and accepts a row."""

import sqlite3
import time
from threading import Lock

from django.db import DatabaseError, InterfaceError

from workers.exceptions import sqlstate
from workers.runtime import db_connections
from workers.store import leases

#: The row to write, and how long an answer is cached, because anyone may call this often.
ROW, FRESH_SECONDS = "readyz", 1.0
#: How long a call waits for another's answer.  So a database that hangs blocks one thread of the
#: process, and not one more with each call.
PATIENCE_SECONDS = 1.0
#: PostgreSQL's code for a full disk.
DISK_FULL = "53100"


class _Answer:
    """The cached answer."""

    def __init__(self) -> None:
        self.problem = ""
        self.until = float("-inf")

    def is_fresh(self) -> bool:
        return time.monotonic() < self.until


_answer = _Answer()
_looking = Lock()


def problem() -> str:
    """Return what is wrong with the database; empty: a row can be written.

    ``read-only``, ``full`` (its disk) or ``unreachable``.  An answer holds for a second.
    """
    if _answer.is_fresh():
        return _answer.problem
    if not _looking.acquire(timeout=PATIENCE_SECONDS):
        return "unreachable"
    try:
        if not _answer.is_fresh():
            _answer.problem = _look()
            _answer.until = time.monotonic() + FRESH_SECONDS
        return _answer.problem
    finally:
        _looking.release()


def forget() -> None:
    """Drop the cached answer."""
    _answer.until = float("-inf")


def _look() -> str:
    try:
        db_connections.require_writable()
        leases.is_due(ROW, FRESH_SECONDS)
        # That row may have fitted into a page with free space.
        db_connections.require_room()
    except (DatabaseError, InterfaceError) as error:
        if db_connections.is_read_only(error):
            return "read-only"
        return "full" if _is_full(error) else "unreachable"
    return ""


def _is_full(error: BaseException) -> bool:
    if isinstance(error.__cause__, sqlite3.Error):
        return getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return sqlstate(error) == DISK_FULL
