"""Beginning again from an earlier step: it and what came after it is undone first.  Pure.

These steps alone are compensated; once that is over they are
waiting again, each with a new generation of its idempotency key, and the process goes on.
"""

from dataclasses import dataclass

from workers.definitions.sentences import say_names
from workers.exceptions import StateError
from workers.rules import compensation, evidence, fall_back
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import CLOSED_STEP_STATES, ProcessState, StepState


@dataclass(frozen=True, slots=True)
class Renewal:
    """What beginning again would do: steps that begin again, and the undo steps before."""

    steps: tuple[str, ...]
    undo: compensation.Plan


def plan(locked: LockedProcess, name: str) -> Renewal:
    """Return what beginning again from step ``name`` would do just now; changes nothing.

    Raises ``StateError`` as ``chosen`` does.
    """
    steps = chosen(locked, name)
    return Renewal(tuple(one.name for one in steps), compensation.plan(locked, steps))


def chosen(locked: LockedProcess, name: str) -> list[StepRow]:
    """Return the steps that would begin again from step ``name``; changes nothing.

    Raises ``StateError`` when there is no such step, when it has not begun, when something
    that would have to be undone cannot be, and whenever undoing is refused.
    """
    compensation.refuse_if_too_late(locked)
    first = locked.named(name, locked.forward_steps)
    steps = [first, *compensation.successors(locked, first)]
    if first.state in (StepState.WAITING, StepState.PENDING):
        raise StateError(f"Step {name} has not been done: it cannot begin again.")
    lasting = [step.name for step in steps if not (evidence.is_none(step) or step.has_undo)]
    if lasting:
        raise StateError(
            f"{locked.process.subject} cannot begin again from {name}: nothing undoes "
            f"{say_names(lasting)}, and it would happen twice."
        )
    return steps


def begin(locked: LockedProcess, name: str, actor: str, reason: str) -> Renewal:
    """Compensate back to step ``name``; the process goes on by itself from there."""
    steps = chosen(locked, name)
    compensation.void(locked, steps, actor)
    # After that: what is void now may be in doubt from an earlier claim.
    undo = compensation.plan(locked, steps)
    names = tuple(one.name for one in steps)
    locked.process.needs_decision = False
    compensation.turn_back(locked, names, undo.undo, actor, reason=reason)
    return Renewal(names, undo)


def finish(locked: LockedProcess, actor: str) -> None:
    """Set the process going forward again once its partial compensation is over."""
    process = locked.process
    if process.state != ProcessState.COMPENSATING or process.outcome != ProcessState.PROCESSING:
        return
    compensation.ready_undo_steps(locked, actor)
    if compensation.is_under_way(locked) or compensation.has_more(locked):
        return
    if any(step.state == StepState.ERROR for step in locked.undo_steps):
        return
    for step in locked.forward_steps:
        if step.name in process.renews:
            _renew(locked, step, actor)
    process.outcome, process.renews = None, []
    # What failed beside it meanwhile was left alone, and is to be decided on now.
    process.needs_decision = any(step.state == StepState.ERROR for step in locked.forward_steps)
    locked.move_process(ProcessState.PROCESSING, "begins_again", actor)


def _renew(locked: LockedProcess, step: StepRow, actor: str) -> None:
    locked.touch(step)
    event, detail = "begins_again", {}
    if fall_back.is_awaited(step):
        before = fall_back.take_next(locked, step)
        event, detail = "fell_back", {"from_agent": before, "to_agent": step.agent}
    else:
        step.begin_generation()
        step.give_attempts_back()
    evidence.undone(step)
    step.not_before = step.fault = step.result = None
    if step.state in CLOSED_STEP_STATES:
        locked.move(step, StepState.WAITING, event, actor, public=bool(detail), **detail)
