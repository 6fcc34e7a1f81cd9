"""What a reply, an operator or a settled step leads to: pure decisions on a locked process."""

from datetime import timedelta
from random import Random

from workers import compensation, policies
from workers.backoff import Backoff
from workers.exceptions import StateError
from workers.locked import LockedProcess, StepRow
from workers.messages import Reply
from workers.states import SETTLED_STEP_STATES, ProcessState, StepState


def holds(step: StepRow | None, reply: Reply) -> bool:
    """Say whether the claim of a reply is still the step's claim."""
    return (
        step is not None and step.state == StepState.PROCESSING and step.claim_id == reply.claim_id
    )


def apply_reply(locked: LockedProcess, reply: Reply, actor: str, rng: Random | None = None) -> bool:
    """Apply one reply.  False: its claim no longer holds and nothing was changed."""
    step = locked.step(reply.step_id)
    if step is None or not holds(step, reply):
        return False
    if reply.fault is None:
        step_result = reply.result if reply.result is not None else {}
        locked.touch(step)
        step.result, step.fault = step_result, None
        locked.move(step, StepState.PROCESSED, "processed", actor, public=True)
        if step.undoes_id is not None:
            compensation.undone(locked, step, actor)
    else:
        _apply_fault(locked, step, reply.fault, actor, rng)
    return True


def _apply_fault(
    locked: LockedProcess, step: StepRow, fault: dict, actor: str, rng: Random | None
) -> None:
    locked.touch(step)
    if fault["kind"] == "transient":
        if locked.fail(step, "failed", actor, fault, rng):
            policies.carry_out(locked, step, actor)
        return
    is_drained = locked.is_on_its_way_back and step.undoes_id is None
    # Neither of the other kinds had an effect; what an earlier claim left in doubt remains so:
    # a gateway that refuses need not have asked who knows.
    step.fault = {**fault, "at": locked.now.isoformat()}
    if fault["kind"] == "unavailable":
        step.may_have_effect = step.is_in_doubt
        step.unavailable_count += 1
        delay = max(
            Backoff(step.backoff_base_seconds, step.backoff_cap_seconds).seconds(
                step.unavailable_count, rng
            ),
            float(fault.get("retry_after") or 0),
        )
        step.not_before = locked.now + timedelta(seconds=delay)
        locked.move(
            step,
            # On the way back nothing forward is tried again.
            StepState.CANCELLED if is_drained else StepState.PENDING,
            "parked",
            actor,
            fault={"code": fault.get("code"), "message": fault.get("message")},
            not_before=step.not_before.isoformat(),
        )
        return
    step.may_have_effect = step.is_in_doubt
    locked.move(
        step,
        StepState.ERROR,
        "refused",
        actor,
        public=True,
        fault={"code": fault.get("code"), "message": fault.get("message")},
    )
    if fault["kind"] == "refused":
        policies.carry_out_refusal(locked, step, actor)
    else:
        policies.carry_out(locked, step, actor)


def carry_out_policies(locked: LockedProcess, actor: str) -> None:
    """Decide on every step in error whose process has not been told yet."""
    locked.touch_process()
    locked.process.needs_decision = False
    for step in locked.steps:
        if step.state == StepState.ERROR:
            policies.carry_out(locked, step, actor, is_counted=False)


def ready_steps(locked: LockedProcess, actor: str) -> list[StepRow]:
    """Return the waiting steps that may begin now; none while the process is in error."""
    if locked.is_forward:
        return [step for step in locked.forward_steps if locked.is_ready(step)]
    if locked.process.state == ProcessState.COMPENSATING:
        return compensation.ready_undo_steps(locked, actor)
    return []


def finish(locked: LockedProcess, actor: str) -> None:
    """End the process once every step is settled, or its way back is over."""
    if locked.process.state == ProcessState.COMPENSATING:
        compensation.finish(locked, actor)
    elif locked.process.state == ProcessState.PROCESSING and all(
        step.state in SETTLED_STEP_STATES for step in locked.steps
    ):
        locked.move_process(ProcessState.PROCESSED, "processed", actor)


def make_pending(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Queue a ready step, where its agent has no room for it just now."""
    step.not_before = locked.now
    locked.move(step, StepState.PENDING, "ready", actor)


def resubmit(locked: LockedProcess, actor: str, reason: str) -> list[str]:
    """Return every step in error to pending with its attempts given back.

    Returns their names.  Raises ``StateError`` when the process is not in error.
    """
    among = locked.undo_steps if locked.is_on_its_way_back else locked.forward_steps
    failed = [step for step in among if step.state == StepState.ERROR]
    if locked.process.state != ProcessState.ERROR or not failed:
        raise StateError(
            f"{locked.process.subject} is {locked.process.state}, not in error: "
            "there is nothing to resubmit."
        )
    locked.move_process(
        ProcessState.COMPENSATING if locked.is_on_its_way_back else ProcessState.PROCESSING,
        "resubmitted",
        actor,
        reason=reason,
        steps=[step.name for step in failed],
    )
    locked.process.needs_decision = False
    for step in failed:
        locked.touch(step)
        counted = step.failure_count
        step.failure_count = step.unavailable_count = 0
        step.not_before = locked.now
        locked.move(
            step, StepState.PENDING, "resubmitted", actor, reason=reason, failure_count=counted
        )
    return [step.name for step in failed]
