"""Call off a step that another one, or a function, makes needless: ``step(unless=)``.  Pure."""

from workers.rules import evidence
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import StepState


def is_needless(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether the step that makes this one needless is processed."""
    return any(
        other.name == step.spec.unless and other.state == StepState.PROCESSED
        for other in locked.forward_steps
    )


def call_off(locked: LockedProcess, actor: str) -> None:
    """Skip the steps that wait for their time, or are ready, and have become needless.

    One that may have been called stays: what the call did has to be found out.
    """
    if not locked.is_forward or not any(step.spec.unless for step in locked.forward_steps):
        return
    pending = [step for step in locked.forward_steps if step.state == StepState.PENDING]
    # Repeat, because a skipped step makes others ready.
    while needless := [
        step
        for step in [*pending, *locked.ready_forward_steps()]
        if step.state != StepState.SKIPPED and evidence.is_none(step) and is_needless(locked, step)
    ]:
        for step in needless:
            skip(locked, step, actor)


def skip(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Skip a needless step; if its process compensates meanwhile, cancel it."""
    locked.touch(step)
    step.fault = None
    if locked.is_given_up(step):
        locked.move(step, StepState.CANCELLED, "cancelled", actor)
        return
    reason = f"{step.spec.unless} is done" if step.spec.unless else "its unless is true"
    locked.move(step, StepState.SKIPPED, "skipped", actor, public=True, reason=reason)
