"""Begin again from an earlier step: undo it and every later step first.  Pure.

Only these steps are compensated.  Then they wait again, each with a new generation of its
idempotency key, and the process goes on.  A step with children that is itself the first keeps those
that are processed, and the others are born again: with earlier steps, its items may be others.
"""

from dataclasses import dataclass

from workers.definitions.children import CHILDREN
from workers.definitions.sentences import say_names
from workers.exceptions import StateError
from workers.rules import compensation, evidence, fall_back
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import CLOSED_STEP_STATES, ProcessState, StepState


@dataclass(frozen=True, slots=True)
class Renewal:
    """What beginning again does: the steps that begin again, and the undo steps before that."""

    steps: tuple[str, ...]
    undo: compensation.Plan


def steps_from(locked: LockedProcess, name: str) -> list[StepRow]:
    """Return the steps that would begin again from step ``name``; changes nothing.

    Raises ``StateError`` if there is no such step, if it has not begun, if an effect that would
    have to be undone cannot be, and whenever undoing is refused.
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
    """Compensate back to step ``name``; the process then goes on from there by itself.

    Raises ``StateError`` as ``steps_from`` does.
    """
    steps = steps_from(locked, name)
    compensation.void(locked, steps, actor)
    # Plan after voiding: a voided step may be in doubt from an earlier claim.
    undo = compensation.plan(locked, [step for step in steps if not _is_kept(step, steps[0].name)])
    names = tuple(step.name for step in steps)
    locked.process.needs_decision = False
    compensation.turn_back(locked, names, undo.undo, actor, reason=reason)
    return Renewal(names, undo)


def finish(locked: LockedProcess, actor: str) -> None:
    """Send the process forward again once its partial compensation is over."""
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
    # Steps that failed in other branches meanwhile were left alone: decide on them now.
    process.needs_decision = any(step.state == StepState.ERROR for step in locked.forward_steps)
    locked.move_process(ProcessState.PROCESSING, "begins_again", actor)


def _is_kept(step: StepRow, first: str) -> bool:
    return step.agent == CHILDREN and step.name == first


def _renew(locked: LockedProcess, step: StepRow, actor: str) -> None:
    locked.touch(step)
    event, detail = "begins_again", {}
    is_kept = _is_kept(step, locked.process.renews[0])
    if is_kept:
        step.give_attempts_back()
    elif fall_back.is_awaited(step):
        previous = fall_back.take_next(locked, step)
        event, detail = "fell_back", {"from_agent": previous, "to_agent": step.agent}
    else:
        step.begin_generation()
        step.give_attempts_back()
    if not is_kept:
        evidence.undone(step)
    step.not_before = step.fault = step.result = None
    if step.state in CLOSED_STEP_STATES:
        locked.move(step, StepState.WAITING, event, actor, public=bool(detail), **detail)
