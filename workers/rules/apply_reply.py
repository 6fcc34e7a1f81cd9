"""Apply a reply or a settled step to a locked process.  Pure."""

from datetime import timedelta
from random import Random
from typing import Any

import msgspec
from msgspec import UNSET

from workers.definitions.effects import Effect
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.rules import calling_off, compensation, evidence, late_success, on_failure
from workers.rules.backoff import Backoff, is_exhausted
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES, SETTLED_STEP_STATES, ProcessState, StepState


def holds(step: StepRow | None, reply: Reply) -> bool:
    """Say whether the claim of a reply is still the step's claim."""
    return (
        step is not None and step.state == StepState.PROCESSING and step.claim_id == reply.claim_id
    )


def apply_reply(
    locked: LockedProcess,
    reply: Reply,
    actor: str,
    rng: Random | None = None,
    *,
    others_pass: bool = False,
) -> bool:
    """Apply one reply.  False: its claim no longer holds, and nothing has changed.

    ``others_pass``: the answer that the agent got before this one reached the service.
    """
    step = locked.step(reply.step_id)
    if step is None or not holds(step, reply) or (reply.deferral and step.is_deferred):
        return False
    if reply.deferral is not None:
        _defer(locked, step, reply.deferral, actor)
    elif reply.fault is not None:
        apply_fault(locked, step, reply.fault, actor, rng, others_pass=others_pass)
    elif reply.result is None:
        evidence.had_none(step)
        calling_off.skip(locked, step, actor)
    else:
        evidence.ended_well(step)
        apply_result(locked, step, reply.result, actor)
    return True


def apply_result(
    locked: LockedProcess, step: StepRow, result: dict[str, Any], actor: str, **detail: Any
) -> None:
    """Mark a step as processed, and the step that it undid as compensated."""
    locked.touch(step)
    step.result, step.fault = result, None
    locked.move(step, StepState.PROCESSED, "processed", actor, public=True, **detail)
    evidence.ended_after_loss(step, locked.now)
    if step.undoes_id is not None:
        compensation.undone(locked, step, actor)
        late_success.after_undo(locked, compensation.forward_of(locked, step), step, actor)


def _defer(locked: LockedProcess, step: StepRow, deferral: dict[str, Any], actor: str) -> None:
    """Make a step wait for a callback; apply one that came early at once."""
    locked.touch(step)
    asks_person = bool(deferral.get("question") or deferral.get("permission"))
    if step.early is not None and step.early.get("is_persons") and not asks_person:
        # A service answers this call: a person's word is not its proof.
        locked.drop_early(step, actor)
    early, step.early = step.early, None
    if early is not None:
        fault = FaultRecord.from_json(early.get("fault"))
        if fault is None:
            evidence.ended_well(step)
            apply_result(locked, step, early.get("result") or {}, actor, answered="early")
        else:
            apply_fault(locked, step, fault, actor, None)
        return
    if locked.is_given_up(step):
        # A compensating process waits for no answer; the undo finds out what happened.
        locked.move(step, StepState.CANCELLED, "cancelled", actor)
        return
    step.complete_by = locked.now + timedelta(seconds=deferral["seconds"])
    escalate_seconds = deferral.get("escalate_seconds")
    step.escalate_at = (
        locked.now + timedelta(seconds=escalate_seconds) if escalate_seconds else None
    )
    step.deferral = {
        "since": locked.now.isoformat(),
        "question": deferral.get("question") or "",
        "permission": deferral.get("permission") or "",
        "is_asked_once": bool(deferral.get("is_asked_once")),
    }
    step.is_filed = False
    locked.note(
        "deferred",
        actor,
        step=step,
        attempt=step.attempt,
        public=True,
        detail={
            "step": step.name,
            "complete_by": step.complete_by.isoformat(),
            "question": step.deferral["question"] or None,
        },
    )


def apply_fault(
    locked: LockedProcess,
    step: StepRow,
    fault: FaultRecord,
    actor: str,
    rng: Random | None,
    *,
    others_pass: bool = False,
) -> None:
    """Apply a fault: park the step, count a failure, or end it in error."""
    locked.touch(step)
    is_alone = False
    if fault.is_of_our_side:
        before = step.fault.refusals if step.fault is not None else UNSET
        is_alone = others_pass and before is not UNSET
        refusals = 1 if before is UNSET else before + is_alone
        is_alone = is_alone and is_exhausted(refusals, step.failure_threshold)
        fault = msgspec.structs.replace(fault, refusals=refusals)
    if fault.kind == "transient":
        if locked.fail(step, "failed", actor, fault, rng):
            on_failure.carry_out(locked, step, actor)
        return
    evidence.ended_with(step, fault)
    step.fault = fault.noted(locked.now)
    if fault.kind == "unavailable" and not is_alone:
        step.unavailable_count += 1
        delay = max(
            Backoff(step.spec.backoff_base_seconds, step.spec.backoff_cap_seconds).seconds(
                step.unavailable_count, rng
            ),
            fault.retry_after or 0.0,
        )
        step.not_before = locked.now + timedelta(seconds=delay)
        # Time during which a service is unavailable does not count against the step.
        step.leave_out(step.not_before - (step.started_at or locked.now))
        locked.release(
            step,
            "parked",
            actor,
            fault={"code": fault.code, "message": fault.message},
            not_before=step.not_before.isoformat(),
        )
        return
    locked.move(
        step,
        StepState.ERROR,
        "refused",
        actor,
        public=True,
        # The kind as well, because two kinds share this event.
        fault={"kind": fault.kind, "code": fault.code, "message": fault.message},
    )
    on_failure.carry_out(locked, step, actor)


def carry_out_policies(locked: LockedProcess, actor: str) -> None:
    """Carry out the policy of every step in error, and that of a deadline that has passed."""
    locked.touch_process()
    locked.process.needs_decision = False
    if locked.process.deadline_at is not None and locked.process.deadline_at <= locked.now:
        on_failure.carry_out_deadline(locked, actor)
    for step in locked.steps:
        if step.state == StepState.ERROR:
            on_failure.carry_out(locked, step, actor, is_counted=False)


def ready_steps(locked: LockedProcess, actor: str) -> list[StepRow]:
    """Return the waiting steps that may begin now; none while the process is in error."""
    if locked.is_forward:
        return locked.ready_forward_steps()
    if locked.process.state == ProcessState.COMPENSATING:
        return compensation.ready_undo_steps(locked, actor)
    return []


def finish(locked: LockedProcess, actor: str) -> None:
    """End the process once every step is settled, or everything is undone."""
    if locked.process.state == ProcessState.COMPENSATING:
        compensation.finish(locked, actor)
        if locked.process.state in FINAL_PROCESS_STATES:
            _tell_doubts(locked)
    elif locked.is_forward:
        states = {step.state for step in locked.steps}
        if states <= SETTLED_STEP_STATES:
            _begin(locked, actor)
            locked.move_process(ProcessState.PROCESSED, "processed", actor)
            _tell_doubts(locked)
        elif (
            StepState.ERROR in states
            and not states & {StepState.PENDING, StepState.PROCESSING}
            and not locked.process.needs_decision
            and not locked.ready_forward_steps()
        ):
            # Every branch that could run has run.
            failed = [step.name for step in locked.steps if step.state == StepState.ERROR]
            _begin(locked, actor)
            locked.move_process(ProcessState.ERROR, "error", actor, steps=failed)


def _tell_doubts(locked: LockedProcess) -> None:
    """Alert an operator to the steps of an ended process whose effect nobody knows."""
    names = [step.name for step in locked.forward_steps if evidence.is_unknown_at_end(step)]
    if names:
        locked.alert("ended_in_doubt", steps=names)


def _begin(locked: LockedProcess, actor: str) -> None:
    if locked.process.state == ProcessState.PENDING:
        # None of its steps was ever claimed: all were skipped or done by hand.
        locked.move_process(ProcessState.PROCESSING, "started", actor)


def make_pending(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Queue a ready step until its delay is over or its agent has room."""
    step.not_before = locked.now + timedelta(seconds=step.spec.delay_seconds)
    locked.move(step, StepState.PENDING, "ready", actor)


def _by_hand(forward: StepRow) -> str:
    text = f"{forward.name} was done by hand, so no service can undo it: undo it by hand, too"
    beside = "; its service may have done it as well, so look there as well"
    return text + (beside if forward.is_in_doubt else "")


def give_up_doubtful(locked: LockedProcess, step: StepRow, actor: str) -> bool:
    """End a step in error if another call is not safe, or if no service may be called.

    Returns whether the step was ended.  The Scheduler decides later what follows, as after an
    expiry.
    """
    if compensation.is_a_persons(locked, step):
        code = "done_by_hand"
        message = _by_hand(compensation.forward_of(locked, step))
    elif compensation.is_forgotten(locked, step):
        code, name = "key_expired", compensation.forward_of(locked, step).name
        message = (
            f"{name} may have had its effect, and its service has forgotten the key by now, so an "
            "undo would find nothing: look there, and undo it by hand"
        )
    elif evidence.is_doubtful(step, locked.now):
        is_unsafe = step.spec.effect == Effect.UNSAFE
        code = "outcome_unknown" if is_unsafe else "key_expired"
        message = "an earlier call may have had its effect, and " + (
            "it must not be repeated" if is_unsafe else "the service has forgotten its key by now"
        )
    else:
        return False
    locked.touch(step)
    refusals = step.fault.refusals if step.fault is not None else UNSET
    step.fault = FaultRecord("transient", code, message, refusals=refusals).noted(locked.now)
    locked.move(step, StepState.ERROR, code, actor, public=True)
    if step.undoes_id is not None:
        # Raise the alert at once: the process may end in error on it before the next look.
        on_failure.carry_out(locked, step, actor)
        return True
    locked.touch_process()
    locked.process.needs_decision = True
    return True
