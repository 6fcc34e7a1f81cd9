"""Operations on a process, its sinks, an agent and a hold.

Each is one transaction, with its journal row, and wakes the role that has to go on.

All raise ``StateError``, and change nothing, if the state forbids the operation, if a process
has moved since ``sequence``, its sequence number as the operator saw it, or if there is none; so
of two clicks only one takes effect.  ``actor`` and ``reason`` are kept in the journal; ``BadText``
is raised for one that cannot be stored.  Operations that move money or goods are refused to an
operator alone if they take two persons (``ask_for_approval``).
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from workers.rules import compensation, operator_commands, restart
from workers.rules.approved_acts import of_plan
from workers.rules.transitions import LockedProcess
from workers.states import ProcessState
from workers.store import sinks
from workers.store.flow import flow_settings, holds
from workers.store.operate import edit_input as editing
from workers.store.operate import erase as erasing
from workers.store.operate import steering, undo_requests
from workers.wire.wake_ups import wake_relay, wake_scheduler, waking

_waking = partial(waking, wake_scheduler)

# These leave nothing to claim.
hold = holds.hold
edit_input = editing.edit_input
erase = erasing.erase
ask_for_approval = undo_requests.ask

decide_approval = _waking(undo_requests.decide)
lift = _waking(holds.lift)
set_flow = _waking(flow_settings.set_flow)
redeliver = waking(wake_relay, sinks.redeliver)


@_waking
def resubmit(
    process_id: int,
    *,
    actor: str,
    reason: str,
    nothing_happened: bool = False,
    sequence: int | None = None,
    now: datetime | None = None,
) -> list[str]:
    """Make the steps in error pending with all their attempts; return their names.

    ``nothing_happened`` confirms that calls of unknown outcome had no effect; without it, a process
    with such a call is refused.
    """

    def act(locked: LockedProcess) -> tuple[list[str], Sequence[str]]:
        doubtful = operator_commands.doubtful(locked)
        steps = operator_commands.resubmit(locked, actor, reason, nothing_happened=nothing_happened)
        return steps, doubtful

    return steering.move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


@_waking
def redo(
    process_id: int,
    step: str,
    *,
    actor: str,
    reason: str,
    may_happen_twice: bool = False,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Do a skipped step again; a processed process resumes for it.

    ``may_happen_twice`` allows repeating a call of unknown outcome; without it, such a step is
    refused.
    """

    def act(locked: LockedProcess) -> tuple[None, Sequence[str]]:
        return None, operator_commands.redo(
            locked, step, actor, reason, may_happen_twice=may_happen_twice
        )

    steering.move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


@_waking
def undo(
    process_id: int,
    *,
    outcome: str,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> compensation.Plan:
    """Begin to compensate a process; return the plan.  ``outcome``: cancelled or compensated."""

    def act(locked: LockedProcess) -> tuple[compensation.Plan, Sequence[str]]:
        plan = compensation.begin(locked, outcome, actor, reason)
        return plan, of_plan(plan)

    return steering.move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


@_waking
def begin_again(
    process_id: int,
    step: str,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> restart.Renewal:
    """Undo a step and every later step, and go on from there; return the plan."""

    def act(locked: LockedProcess) -> tuple[restart.Renewal, Sequence[str]]:
        renewal = restart.begin(locked, step, actor, reason)
        return renewal, of_plan(renewal.undo)

    return steering.move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


def pause(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Stop claiming steps of a process; calls in flight run to their end."""
    steering.steer(
        process_id,
        lambda locked: operator_commands.pause(locked, actor, reason),
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )


@_waking
def resume(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Resume a paused process."""
    steering.steer(
        process_id,
        lambda locked: operator_commands.resume(locked, actor, reason),
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )


@_waking
def retry(
    process_id: int,
    step: str,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """End a step's backoff, delay or wait now."""
    steering.steer(
        process_id,
        lambda locked: operator_commands.retry_now(locked, step, actor, reason),
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )


def postpone(
    process_id: int,
    step: str,
    until: datetime,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Have a pending step wait until an instant."""
    steering.steer(
        process_id,
        lambda locked: operator_commands.postpone(locked, step, until, actor, reason),
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )


@_waking
def retime(
    process_id: int,
    step: str,
    seconds: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Set a step's timeout: a shorter one acts at once, a longer one with its next claim."""
    steering.steer(
        process_id,
        lambda locked: operator_commands.retime(locked, step, seconds, actor, reason),
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )


@_waking
def complete(
    process_id: int,
    step: str,
    result: dict[str, Any],
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Mark a step as done by hand."""

    def act(locked: LockedProcess) -> tuple[None, Sequence[str]]:
        operator_commands.complete(locked, step, result, actor, reason)
        return None, [step]

    steering.move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


@_waking
def skip(
    process_id: int,
    step: str,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Go on without a step."""

    def act(locked: LockedProcess) -> tuple[None, Sequence[str]]:
        operator_commands.skip(locked, step, actor, reason)
        return None, [step]

    steering.move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


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
    return undo(
        process_id,
        outcome=ProcessState.CANCELLED,
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )
