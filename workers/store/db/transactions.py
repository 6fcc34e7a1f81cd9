"""Transactions whose COMMIT leaves along with their last writes, so that both are one wait.

A COMMIT may be on its way before it is known whether each row was as it was read only because
the database itself looks: a write that must land fails where it does not, and what follows a
failure is not carried out.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType

from django.db import DataError

from workers.exceptions import SASError
from workers.runtime import failpoints
from workers.store.db import dialect, prepared_plans

#: Raises ``LostRow`` where a row was not as it was read; to be called once its write is answered.
Check = Callable[[], None]

_Kind = type[BaseException] | None
#: Marks the error of a write that did not land.
_LOST = "not as it was read: row "


class LostRow(SASError):
    """A row changed under its lock: a bug, or a database that was tampered with."""


class _Last(threading.local):
    """The last writes of this thread's transaction."""

    #: Holds the pipeline that they are in; None: the commit leaves alone, as ever.
    pipeline: ExitStack | None = None
    #: What is to be looked at once they are committed.
    checks: list[Check]


_last = _Last()


class durable(failpoints.durable):  # noqa: N801 (used like `atomic`)
    """As ``failpoints.durable``; its COMMIT leaves along with ``writes`` that are the last.

    Where plans are kept, and in a transaction of its own; else it is sent as ever.  Raises
    ``LostRow``, with nothing committed, where a row was not as it was read.  Only a row that is
    gone, though its process is locked, is noticed once the rest is committed.
    """

    def __init__(
        self, name: str, *, savepoint: bool = True, meanwhile: Callable[[], object] | None = None
    ) -> None:
        """``meanwhile`` is called once the COMMIT is sent along, before its answer is waited for.

        It may not ask this connection for anything, and may not raise.
        """
        super().__init__(name, savepoint=savepoint)
        self._meanwhile = meanwhile

    def __enter__(self) -> None:
        # Off in whatever transaction there is already, and with who commits by hand.
        self._takes_along = prepared_plans.is_kept() and prepared_plans.database().get_autocommit()
        super().__enter__()
        if self._takes_along:
            _last.pipeline, _last.checks = ExitStack(), []

    def _end(self, kind: _Kind, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._takes_along:
            super()._end(kind, error, trace)
            _raise_lost(error)
            return
        pipeline, _last.pipeline = _last.pipeline, None
        assert pipeline is not None
        try:
            if error is None:
                _commit(pipeline, self._meanwhile)
            else:
                pipeline.__exit__(kind, error, trace)
        except BaseException as failed:
            # Django rolls back, and finds a connection that is lost.
            super()._end(type(failed), failed, failed.__traceback__)
            _raise_lost(failed)
            raise
        super()._end(kind, error, trace)
        _raise_lost(error)
        for check in _last.checks:
            check()


def _commit(pipeline: ExitStack, meanwhile: Callable[[], object] | None) -> None:
    """Send the COMMIT behind what was left open, and wait for all; Django finds nothing to do."""
    with pipeline:
        if dialect.is_pipelined() and not prepared_plans.database().needs_rollback:
            prepared_plans.raw(prepared_plans.database()).execute("COMMIT", prepare=False)
            if meanwhile is not None:
                meanwhile()


def _raise_lost(error: BaseException | None) -> None:
    if isinstance(error, DataError) and _LOST in str(error):
        raise LostRow(str(error)) from error


def or_fail(condition: str) -> str:
    """Return SQL that fails (``LostRow``) where a condition on the row ``t`` is false.

    Only where the COMMIT is sent along: nobody can then look at how many rows were written first.
    """
    if _last.pipeline is None:
        return condition
    # No constant: the planner would work that out, and fail, before there is a row.
    return f"CASE WHEN {condition} THEN true ELSE CAST('{_LOST}' || t.id AS boolean) END"


@contextmanager
def writes(*, is_last: bool = False) -> Iterator[list[Check]]:
    """Send writes in a ``pipelined`` block, and look at what came of them once that is known.

    Yields the list for what is to be looked at.  With ``is_last`` the transaction's ``durable``
    takes the COMMIT along, and looks after it.  What follows until then is not waited for: it may
    not ask how many rows it has changed, and to read has it wait once more.
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
