"""Plans that a connection keeps: made once, and not from what the tables hold just then.

Of PostgreSQL's work for the settlement of one reply, half is to parse and plan the same dozen
statements anew.  A plan that is kept must serve whatever the tables grow to, and one that was
made while they were small reads all of them, for good.  So the planner is told to follow indexes
whatever it believes of the tables: the hot statements are written so that it then has no choice.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from workers.conf import sas
from workers.exceptions import sqlstate

#: For the transaction only.  One plan for all values, and an index for whatever is read.  A plan
#: for all values reckons with many rows, and would be compiled each time (``jit``).
SETTINGS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "jit": "off",
}
_SET = "SELECT " + ", ".join(f"set_config('{name}', '{to}', true)" for name, to in SETTINGS.items())

_IDLE = 0  # libpq's PQTRANS_IDLE: no transaction has begun
#: What PostgreSQL says of a plan that is good no more: a column's type has changed, or somebody
#: (a pooler, ``DISCARD ALL``) has dropped the statement or has one of its name.
_STALE = {"0A000", "26000", "42P05"}
#: Another client's statement of that name takes other parameters; true of much else, too.
_PROTOCOL_VIOLATION = "08P01"


class _Block(threading.local):
    """What this thread's statements are run by just now."""

    is_prepared = False
    is_kept = False
    #: How many plans a connection keeps.
    most = 0
    #: Its connection, as Django wraps it: to look it up costs as much as a short statement.
    database: BaseDatabaseWrapper | None = None


_block = _Block()


def database() -> BaseDatabaseWrapper:
    """Return this thread's connection, as Django wraps it."""
    return _block.database or connections[DEFAULT_DB_ALIAS]


@contextmanager
def prepared() -> Iterator[None]:
    """Have PostgreSQL parse the statements of a block once a connection.

    Only for statements that read no table: their plans are weighed as ever, and kept.
    Raises ``OperationalError`` where a plan turns out to be stale; the connection is dropped,
    unless somebody's transaction is open on it.
    """
    ours = database()
    before = _block.is_prepared, _block.database
    _block.is_prepared, _block.database, _block.most = _can_prepare(ours), ours, _most()
    try:
        yield
    except DatabaseError as error:
        if not _block.is_kept:
            _refuse_stale(error, ours)
        raise
    finally:
        _block.is_prepared, _block.database = before


@contextmanager
def kept() -> Iterator[None]:
    """Run a verb by plans that are kept, whatever the tables hold when they are made.

    Only for statements that have an index for each of their steps.  Nothing changes inside
    somebody else's transaction, which the planner's settings would hold for until its end.
    Where definitions of the application ask the database within such a transaction, the
    settings hold for them, too.  Raises ``OperationalError``, with nothing done and the connection
    dropped, where a plan turns out to be stale: the caller may try again.
    """
    ours = database()
    if _block.is_kept or ours.in_atomic_block or not _can_prepare(ours):
        yield
        return
    # Here, for later it would be asked in a pipeline, and a dead connection be replaced in it.
    ours.close_if_health_check_failed()
    before = _block.is_prepared, _block.database
    _block.is_kept, _block.is_prepared, _block.database = True, False, ours
    _block.most = _most()
    try:
        yield
    except DatabaseError as error:
        _refuse_stale(error, ours)
        raise
    finally:
        _block.is_kept = False
        _block.is_prepared, _block.database = before


def _refuse_stale(error: DatabaseError, ours: BaseDatabaseWrapper) -> None:
    """Raise ``OperationalError``, with what to do, where an error tells of a stale plan."""
    code = sqlstate(error)
    if not (code in _STALE or (code == _PROTOCOL_VIOLATION and "prepared statement" in str(error))):
        return
    if not ours.in_atomic_block:
        ours.close()
    raise OperationalError(
        "A kept plan is good no more (behind a pooler that knows no prepared statements, set"
        f" SAS_KEPT_PLANS=0): {error}"
    ) from error


def is_kept() -> bool:
    """Say whether the statements that are put together now have plans that are kept."""
    return _block.is_kept


def _can_prepare(ours: BaseDatabaseWrapper) -> bool:
    return ours.vendor == "postgresql" and has_pipelines() and _most() > 0


def _most() -> int:
    return int(sas.kept_plans)


@cache
def has_pipelines() -> bool:
    """Say whether PostgreSQL's client library can send statements without waiting for each."""
    import psycopg

    return psycopg.capabilities.has_pipeline()


def is_to_begin() -> bool:
    """Say whether the next statement begins a transaction whose plans are to be kept."""
    if not _block.is_kept:
        return False
    return bool(raw(database()).pgconn.transaction_status == _IDLE)


def takes_over_begin(itself: Any) -> bool:
    """Have psycopg send no BEGIN for the transaction that begins; False: it is to send its own.

    It would wait for the answer before it sends another statement, even in a pipeline.  Django,
    whose transaction it is, asks for the commit or the rollback as ever.  For transactions of ours
    only: a caller's would have its server-side cursors held beyond it, which excludes locks.
    """
    if itself.autocommit or not database().in_atomic_block:
        # No transaction, or one of somebody who commits by hand and goes on in psycopg's mode.
        return False
    if (itself.isolation_level, itself.read_only, itself.deferrable) != (None, None, None):
        # Its BEGIN says more than ours would.
        return False
    itself.autocommit = True
    return True


def begin() -> None:
    """Send the planner's settings: the first statement of a transaction, in a pipeline.

    From here on statements are prepared; without the settings their plans would not do.
    """
    _block.is_prepared = True
    cursor().execute(_SET)


def raw(ours: BaseDatabaseWrapper) -> Any:
    """Return the connection itself, opened where it is not."""
    if ours.connection is None:
        ours.ensure_connection()
    return ours.connection


def cursor() -> Any:
    """Return a cursor, which prepares what it runs where that is wanted.

    A preparing cursor is psycopg's own: Django's wrapper costs as much as the statement.  It is
    wrapped where somebody looks on (``execute_wrapper``, or Django logs its queries); nothing else
    depends on that.
    """
    ours = database()
    if not _block.is_prepared:
        return ours.cursor()
    itself = raw(ours)
    if not (ours.execute_wrappers or ours.queries_logged):
        ours.validate_no_broken_transaction()
        return _preparing()(itself)
    usual, itself.cursor_factory = itself.cursor_factory, _preparing()
    try:
        return ours.cursor()
    finally:
        itself.cursor_factory = usual


@cache
def _preparing() -> Any:
    """Return the class of cursors that prepare, and have the server bind their parameters."""
    import psycopg

    class Preparing(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> "Preparing":
            # The connection is shared with cursors that prepare nothing, or as they were told;
            # how many it keeps is looked at when the answer comes.
            shared = self.connection
            shared.prepared_max = _block.most
            # psycopg cannot say which prepared statement ran, which Django would write down.
            wanted = None if database().queries_logged else 0
            usual, shared.prepare_threshold = shared.prepare_threshold, wanted
            try:
                return super().execute(query, params, **options)
            finally:
                shared.prepare_threshold = usual

    return Preparing
