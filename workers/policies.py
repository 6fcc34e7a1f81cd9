"""What follows when a step has failed for good: pure decisions on a locked process.

In this order: the next fall-back agent, where no effect is possible; skip, where the step
is optional; otherwise the process ends in error and an operator is told.
"""

from workers.locked import LockedProcess, StepRow
from workers.states import OPEN_PROCESS_STATES, ProcessState, StepState


def carry_out(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Carry out the policy of a step in error."""
    reason = (step.fault or {}).get("message") or "no reason was given"
    if step.fallbacks and not step.may_have_effect:
        _fall_back(locked, step, actor)
    elif step.is_optional:
        locked.move(step, StepState.SKIPPED, "skipped", actor, public=True, reason=reason)
        locked.alert(
            "step_skipped",
            f"{locked.process.subject}: optional step {step.name} was skipped: {reason}",
            step,
        )
    else:
        message = f"{locked.process.subject}: step {step.name} failed for good: {reason}"
        if locked.process.state in OPEN_PROCESS_STATES:
            locked.move_process(ProcessState.ERROR, "error", actor, step=step.name, reason=reason)
        locked.alert("process_error", message, step)


def _fall_back(locked: LockedProcess, step: StepRow, actor: str) -> None:
    locked.touch(step)
    before, step.agent, step.fallbacks = step.agent, step.fallbacks[0], step.fallbacks[1:]
    step.failure_count = step.unavailable_count = 0
    step.not_before = locked.now
    locked.move(
        step,
        StepState.PENDING,
        "fell_back",
        actor,
        public=True,
        from_agent=before,
        to_agent=step.agent,
    )
