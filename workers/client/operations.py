"""Operations on a process, its sinks, an agent and a hold.

Each is one transaction, with its journal row, and wakes the role that has to go on.

All raise ``StateError``, and change nothing, if the state forbids the operation, if a process
has moved since ``sequence``, its sequence number as the operator saw it, or if there is none; so
of two clicks only one takes effect.  ``actor`` and ``reason`` are kept in the journal; ``BadText``
is raised for one that cannot be stored.  Operations that move money or goods are refused to an
operator alone if they take two persons (``ask_for_approval``).
"""

from datetime import datetime
from functools import partial
from typing import Any, Unpack

from workers.rules import compensation, operator_commands, restart
from workers.rules.approved_acts import of_plan
from workers.rules.transitions import LockedProcess
from workers.states import ProcessState
from workers.store import sinks
from workers.store.flow import flow_settings, holds, key_settings
from workers.store.operate import edit_input as editing
from workers.store.operate import steering, undo_requests
from workers.store.operate.steering import By
from workers.wire.wake_ups import wake_relay, wake_scheduler, waking

_waking = partial(waking, wake_scheduler)

# These leave nothing to claim.
hold = holds.hold
edit_input = editing.edit_input
ask_for_approval = undo_requests.ask

decide_approval = _waking(undo_requests.decide)
lift = _waking(holds.lift)
set_flow = _waking(flow_settings.set_flow)
set_key = _waking(key_settings.set_key)
redeliver = waking(wake_relay, sinks.redeliver)


@_waking
def resubmit(process_id: int, *, nothing_happened: bool = False, **by: Unpack[By]) -> list[str]:
    """Make the steps in error pending with all their attempts; return their names.

    ``nothing_happened`` confirms that calls of unknown outcome had no effect; without it, a process
    with such a call is refused.
    """

    def act(locked: LockedProcess, actor: str, reason: str) -> tuple[list[str], list[str]]:
        doubtful = operator_commands.doubtful(locked)
        steps = operator_commands.resubmit(locked, actor, reason, nothing_happened=nothing_happened)
        return steps, doubtful

    return steering.move(process_id, act, moves=lambda outcome: outcome[1], **by)[0]


@_waking
def redo(process_id: int, step: str, *, may_happen_twice: bool = False, **by: Unpack[By]) -> None:
    """Do a skipped step again; a processed process resumes for it.

    ``may_happen_twice`` allows repeating a call of unknown outcome; without it, such a step is
    refused.
    """
    verb = partial(operator_commands.redo, may_happen_twice=may_happen_twice)
    steering.move(process_id, verb, step, moves=lambda names: names, **by)


@_waking
def undo(process_id: int, *, outcome: str, **by: Unpack[By]) -> compensation.Plan:
    """Begin to compensate a process; return the plan.  ``outcome``: cancelled or compensated."""
    return steering.move(process_id, compensation.begin, outcome, moves=of_plan, **by)


def cancel(process_id: int, **by: Unpack[By]) -> compensation.Plan:
    """Undo what was done and end as cancelled; return the plan.

    Refused once the process is final, is being undone, or has passed its point of no return.
    """
    return undo(process_id, outcome=ProcessState.CANCELLED, **by)


@_waking
def begin_again(process_id: int, step: str, **by: Unpack[By]) -> restart.Renewal:
    """Undo a step and every later step, and go on from there; return the plan."""
    return steering.move(
        process_id, restart.begin, step, moves=lambda renewal: of_plan(renewal.undo), **by
    )


def pause(process_id: int, **by: Unpack[By]) -> None:
    """Stop claiming steps of a process; calls in flight run to their end."""
    steering.steer(process_id, operator_commands.pause, **by)


@_waking
def resume(process_id: int, **by: Unpack[By]) -> None:
    """Resume a paused process."""
    steering.steer(process_id, operator_commands.resume, **by)


@_waking
def retry(process_id: int, step: str, **by: Unpack[By]) -> None:
    """End a step's backoff, delay or wait now."""
    steering.steer(process_id, operator_commands.retry_now, step, **by)


def postpone(process_id: int, step: str, until: datetime, **by: Unpack[By]) -> None:
    """Have a pending step wait until an instant."""
    steering.steer(process_id, operator_commands.postpone, step, until, **by)


@_waking
def retime(process_id: int, step: str, seconds: int, **by: Unpack[By]) -> None:
    """Set a step's timeout: a shorter one acts at once, a longer one with its next claim."""
    steering.steer(process_id, operator_commands.retime, step, seconds, **by)


@_waking
def complete(process_id: int, step: str, result: dict[str, Any], **by: Unpack[By]) -> None:
    """Mark a step as done by hand."""
    steering.move(
        process_id, operator_commands.complete, step, result, moves=lambda _: [step], **by
    )


@_waking
def skip(process_id: int, step: str, **by: Unpack[By]) -> None:
    """Go on without a step."""
    steering.move(process_id, operator_commands.skip, step, moves=lambda _: [step], **by)
