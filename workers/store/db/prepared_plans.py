"""Keep query plans on a connection: made once, and independent of the tables' contents.

Half of PostgreSQL's work for settling one reply is to parse and plan the same dozen statements
again.  A kept plan must suit tables of any size, but one made while they are small would scan
them forever.  So the planner has to use indexes, whatever it estimates: the hot statements are
written so that this leaves it no choice.
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

#: For the transaction only: one plan for all values, and an index for every read.  A generic plan
#: expects many rows, and would be compiled each time (``jit``).
SETTINGS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "jit": "off",
}
_SET = "SELECT " + ", ".join(f"set_config('{name}', '{to}', true)" for name, to in SETTINGS.items())

_IDLE = 0  # libpq's PQTRANS_IDLE: no transaction has begun
#: PostgreSQL's error codes for a stale plan: a column's type has changed, or another program (a
#: pooler, ``DISCARD ALL``) has dropped the statement or prepared another of the same name.
_STALE = {"0A000", "26000", "42P05"}
#: Another client's statement of this name takes other parameters; the code has other causes, too.
_PROTOCOL_VIOLATION = "08P01"


class _Block(threading.local):
    """How this thread's statements run now."""

    is_prepared = False
    is_kept = False
    #: The most plans that a connection keeps.
    most = 0
    #: Django's wrapper of its connection, cached: a lookup costs as much as a short statement.
    database: BaseDatabaseWrapper | None = None


_block = _Block()


def database() -> BaseDatabaseWrapper:
    """Return Django's wrapper of this thread's connection."""
    return _block.database or connections[DEFAULT_DB_ALIAS]


@contextmanager
def prepared() -> Iterator[None]:
    """Make PostgreSQL parse the statements of a block once per connection.

    Only for statements that read no table: they are planned as usual, and the plans kept.  Raises
    ``OperationalError`` if a plan is stale; drops the connection, unless a transaction is open on
    it.
    """
    wrapper = database()
    previous = _block.is_prepared, _block.database
    _block.is_prepared, _block.database, _block.most = _can_prepare(wrapper), wrapper, _most()
    try:
        yield
    except DatabaseError as error:
        if not _block.is_kept:
            _refuse_stale(error, wrapper)
        raise
    finally:
        _block.is_prepared, _block.database = previous


@contextmanager
def kept() -> Iterator[None]:
    """Run a verb with kept plans, which do not depend on the tables' contents.

    Only for statements that have an index for every read.  Has no effect inside a caller's
    transaction, because the planner's settings would apply until its end.  They also apply to
    queries of the application's definitions inside the verb.  Raises ``OperationalError``, with
    nothing done and the connection dropped, if a plan is stale: the caller may try again.
    """
    wrapper = database()
    if _block.is_kept or wrapper.in_atomic_block or not _can_prepare(wrapper):
        yield
        return
    # Check now: later the check would run in a pipeline, and replace a dead connection there.
    wrapper.close_if_health_check_failed()
    previous = _block.is_prepared, _block.database
    _block.is_kept, _block.is_prepared, _block.database = True, False, wrapper
    _block.most = _most()
    try:
        yield
    except DatabaseError as error:
        _refuse_stale(error, wrapper)
        raise
    finally:
        _block.is_kept = False
        _block.is_prepared, _block.database = previous


def _refuse_stale(error: DatabaseError, wrapper: BaseDatabaseWrapper) -> None:
    """Raise ``OperationalError``, with a remedy, if an error means a stale plan."""
    code = sqlstate(error)
    if not (code in _STALE or (code == _PROTOCOL_VIOLATION and "prepared statement" in str(error))):
        return
    if not wrapper.in_atomic_block:
        wrapper.close()
    raise OperationalError(
        "A kept plan is good no more (behind a pooler that knows no prepared statements, set"
        f" SAS_KEPT_PLANS=0): {error}"
    ) from error


def is_kept() -> bool:
    """Say whether statements composed now run with kept plans."""
    return _block.is_kept


def _can_prepare(wrapper: BaseDatabaseWrapper) -> bool:
    return wrapper.vendor == "postgresql" and has_pipelines() and _most() > 0


def _most() -> int:
    return int(sas.kept_plans)


@cache
def has_pipelines() -> bool:
    """Say whether PostgreSQL's client library supports pipelines."""
    import psycopg

    return psycopg.capabilities.has_pipeline()


def is_to_begin() -> bool:
    """Say whether the next statement begins a transaction with kept plans."""
    if not _block.is_kept:
        return False
    return bool(raw(database()).pgconn.transaction_status == _IDLE)


def takes_over_begin(pg: Any) -> bool:
    """Keep psycopg from sending BEGIN for the new transaction; False: it has to send its own.

    psycopg would wait for its answer before the next statement, even in a pipeline.  Django, which
    owns the transaction, commits or rolls back as usual.  Only for the engine's own transactions:
    in a caller's, server-side cursors would be declared WITH HOLD, which excludes locks.
    """
    if pg.autocommit or not database().in_atomic_block:
        # No transaction, or the caller commits by hand and relies on psycopg's mode.
        return False
    if (pg.isolation_level, pg.read_only, pg.deferrable) != (None, None, None):
        # psycopg's BEGIN has more options than ours.
        return False
    pg.autocommit = True
    return True


def begin() -> None:
    """Send the planner's settings as the first statement of a transaction, in a pipeline.

    Later statements are prepared; without the settings their plans would be wrong to keep.
    """
    _block.is_prepared = True
    cursor().execute(_SET)


def raw(wrapper: BaseDatabaseWrapper) -> Any:
    """Return psycopg's connection, opened if it is not."""
    if wrapper.connection is None:
        wrapper.ensure_connection()
    return wrapper.connection


def cursor() -> Any:
    """Return a cursor, which prepares its statements if the block wants that.

    A preparing cursor is psycopg's own: Django's wrapper costs as much as the statement.  It is
    wrapped only if an ``execute_wrapper`` is installed or Django logs its queries; nothing else
    depends on the wrapper.
    """
    wrapper = database()
    if not _block.is_prepared:
        return wrapper.cursor()
    pg = raw(wrapper)
    if not (wrapper.execute_wrappers or wrapper.queries_logged):
        wrapper.validate_no_broken_transaction()
        return _preparing()(pg)
    usual, pg.cursor_factory = pg.cursor_factory, _preparing()
    try:
        return wrapper.cursor()
    finally:
        pg.cursor_factory = usual


@cache
def _preparing() -> Any:
    """Return the class of cursors that prepare statements and bind parameters on the server."""
    import psycopg

    class Preparing(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> "Preparing":
            # Set the connection's limits for this statement only, because other cursors share
            # it; psycopg reads ``prepared_max`` when the answer comes.
            shared = self.connection
            shared.prepared_max = _block.most
            # psycopg cannot name the prepared statement that ran, which Django's log would need.
            threshold = None if database().queries_logged else 0
            usual, shared.prepare_threshold = shared.prepare_threshold, threshold
            try:
                return super().execute(query, params, **options)
            finally:
                shared.prepare_threshold = usual

    return Preparing
