"""What an application does to a process: each verb wakes the Scheduler once its rows are committed.

All raise ``StateError``, and change nothing, when the process's state forbids the verb, when it
has moved since ``sequence``, or when there is no such process.  ``actor`` and ``reason`` stand in
the journal.
"""

from datetime import datetime

from django.db import transaction

from workers import compensation, dispatch
from workers.states import ProcessState
from workers.store import steering


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
    plan = steering.undo(
        process_id,
        outcome=ProcessState.CANCELLED,
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )
    _wake()
    return plan


def pause(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Claim nothing more of a process; what is in flight goes on to its end."""
    steering.pause(process_id, actor=actor, reason=reason, sequence=sequence, now=now)


def resume(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Let a paused process go on."""
    steering.resume(process_id, actor=actor, reason=reason, sequence=sequence, now=now)
    _wake()


def retry(
    process_id: int,
    step: str,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Skip what is left of a step's backoff, delay or rest."""
    steering.retry_now(process_id, step, actor=actor, reason=reason, sequence=sequence, now=now)
    _wake()


def resubmit(
    process_id: int,
    *,
    actor: str,
    reason: str,
    nothing_happened: bool = False,
    sequence: int | None = None,
    now: datetime | None = None,
) -> list[str]:
    """Give the steps in error their attempts back; return the steps' names.

    ``nothing_happened`` says of calls of unknown outcome that somebody has looked, and that they
    had no effect; without it such a process is refused.
    """
    names = steering.resubmit(
        process_id,
        actor=actor,
        reason=reason,
        nothing_happened=nothing_happened,
        sequence=sequence,
        now=now,
    )
    _wake()
    return names


def _wake() -> None:
    transaction.on_commit(dispatch.nudge_later, robust=True)
