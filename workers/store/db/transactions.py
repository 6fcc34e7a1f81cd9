"""Transactions that send their COMMIT along with their last writes, in one round trip.

The COMMIT may be sent before it is known whether each row was still as read, because the database
itself checks: a write that must match fails if a row does not, and after a failure the COMMIT is
not carried out.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import TracebackType

from django.db import DataError

from workers.exceptions import SASError
from workers.runtime import failpoints
from workers.store.db import dialect, prepared_plans

#: Raises ``LostRow`` if a row was not as read; call it once the answer of its write is there.
Check = Callable[[], None]

_Kind = type[BaseException] | None
#: Marks the error of a write that did not match its row.
_LOST = "not as it was read: row "


class LostRow(SASError):
    """A row changed under its lock: a bug, or another program changed the database."""


class _Last(threading.local):
    """The last writes of this thread's transaction."""

    #: Holds their pipeline open; None: the COMMIT is sent alone, as usual.
    pipeline: ExitStack | None = None
    #: Checks to run after the commit.
    checks: list[Check]
    #: What to do before the COMMIT, by verb; None: no ``durable`` is open.
    before: dict[Callable[[Mapping[str, str]], object], dict[str, str]] | None = None


_last = _Last()


class durable(failpoints.durable):  # noqa: N801 (used like `atomic`)
    """A ``failpoints.durable`` that sends its COMMIT along with the last ``writes``.

    Only with kept plans and in a transaction of its own; else it is sent as usual.  Raises
    ``LostRow``, with nothing committed, if a row was not as read.  Only a row that was deleted in
    spite of its process's lock is noticed after the commit of the rest.
    """

    def __enter__(self) -> None:
        # Off inside an outer transaction, and if the caller commits by hand.
        self._takes_along = prepared_plans.is_kept() and prepared_plans.database().get_autocommit()
        super().__enter__()
        if self._takes_along:
            _last.pipeline, _last.checks = ExitStack(), []
        self._is_outermost = _last.before is None
        if self._is_outermost:
            _last.before = {}

    def _end(self, kind: _Kind, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._is_outermost:
            before, _last.before = _last.before or {}, None
            try:
                for verb, items in before.items() if error is None else ():
                    verb(items)
            except BaseException as failed:
                self._close(type(failed), failed, failed.__traceback__)
                raise
        self._close(kind, error, trace)

    def _close(self, kind: _Kind, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._takes_along:
            super()._end(kind, error, trace)
            _raise_lost(error)
            return
        pipeline, _last.pipeline = _last.pipeline, None
        assert pipeline is not None
        try:
            if error is None:
                _commit(pipeline)
            else:
                pipeline.__exit__(kind, error, trace)
        except BaseException as failed:
            # Django rolls back, and notices a lost connection.
            super()._end(type(failed), failed, failed.__traceback__)
            _raise_lost(failed)
            raise
        super()._end(kind, error, trace)
        _raise_lost(error)
        for check in _last.checks:
            check()


def before_commit(verb: Callable[[Mapping[str, str]], object], items: Mapping[str, str]) -> None:
    """Run a verb once as the last of this transaction's ``durable``, with all items given to it.

    Whatever it locks is locked after everything else, and for the shortest time.  Without a
    ``durable``, runs it now.  It may read no answers.
    """
    if _last.before is None:
        verb(items)
    else:
        _last.before.setdefault(verb, {}).update(items)


def _commit(pipeline: ExitStack) -> None:
    """Send the COMMIT after the open writes, and wait for all; Django then finds nothing to do."""
    with pipeline:
        if dialect.is_pipelined() and not prepared_plans.database().needs_rollback:
            prepared_plans.raw(prepared_plans.database()).execute("COMMIT", prepare=False)


def _raise_lost(error: BaseException | None) -> None:
    if isinstance(error, DataError) and _LOST in str(error):
        raise LostRow(str(error)) from error


def or_fail(condition: str) -> str:
    """Return SQL that fails (``LostRow``) if a condition on the row ``t`` is false.

    Only if the COMMIT is sent along: then the number of written rows is known too late.
    """
    if _last.pipeline is None:
        return condition
    # Not a constant: the planner would evaluate that, and fail, before there is a row.
    return f"CASE WHEN {condition} THEN true ELSE CAST('{_LOST}' || t.id AS boolean) END"


@contextmanager
def writes(*, is_last: bool = False) -> Iterator[list[Check]]:
    """Send writes in a ``pipelined`` block, and run their checks after it.

    Yields the list for the checks.  With ``is_last``, the transaction's ``durable`` sends the
    COMMIT along, and runs the checks after it.  Until then no statement waits for its answer: later
    ones cannot know how many rows they changed, and reading rows costs one more wait.
    """
    if is_last and _last.pipeline is not None:
        _last.pipeline.enter_context(dialect.pipelined())
        yield _last.checks
        return
    checks: list[Check] = []
    with dialect.pipelined():
        yield checks
    for check in checks:
        check()
