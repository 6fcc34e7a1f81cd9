"""What an application does to a process: all but ``pause`` wake the Scheduler.

All raise ``StateError``, and change nothing, when the process's state forbids the verb, when it
has moved since ``sequence``, or when there is no such process.  ``actor`` and ``reason`` stand in
the journal.
"""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

from workers.rules import compensation
from workers.states import ProcessState
from workers.store.operate import commands
from workers.wire import dispatch

P = ParamSpec("P")
T = TypeVar("T")


def _waking(verb: Callable[P, T]) -> Callable[P, T]:
    """Return a verb that wakes the Scheduler once its rows are committed."""

    @wraps(verb)
    def woken(*args: P.args, **kwargs: P.kwargs) -> T:
        result = verb(*args, **kwargs)
        transaction.on_commit(dispatch.nudge_later, robust=True)
        return result

    return woken


#: Nothing is to be claimed then, so nobody is woken.
pause = commands.pause
resume = _waking(commands.resume)
retry = _waking(commands.retry_now)
resubmit = _waking(commands.resubmit)


@_waking
def cancel(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> compensation.Plan:
    """Undo what was done and end as cancelled; return the plan.

    Refused once the process is final, is being undone, or has passed its point of no return.
    """
    return commands.undo(
        process_id,
        outcome=ProcessState.CANCELLED,
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )
