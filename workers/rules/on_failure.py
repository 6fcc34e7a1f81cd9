"""Carry out the policy of a step that has failed for good.  Pure.

The first that applies: the next fall-back agent, unless the business said no or our own credentials
or address were refused, and if a possible effect is absent or can be undone first; skip, if the
step is optional; compensate without an alert, if the business said no; an operator, if we were
refused; otherwise what the step declares: error, compensate, wait, or ask, which lets the other
branches go on meanwhile.  Nothing is undone past the point of no return: there a failure goes to an
operator.
"""

from datetime import timedelta

from msgspec import UNSET

from workers.rules import compensation, evidence, fall_back
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES, ProcessState, StepState

#: The fault code of a step whose condition could not be evaluated.
CONDITION_FAILED = "condition_failed"


def carry_out(locked: LockedProcess, step: StepRow, actor: str, *, is_counted: bool = True) -> None:
    """Carry out the policy of a step in error.

    Without ``is_counted``, raising an alert that is already open does not count it once more; for
    callers that look at every step in error again.
    """
    message = _message_of(step)
    reason = message or "no reason was given"
    if step.undoes_id is not None:
        locked.alert("undo_stuck", step, is_counted=is_counted, reason=message)
    elif locked.is_being_undone:
        return
    elif step.spec.fallbacks and evidence.is_none(step) and _may_fall_back(step):
        fall_back.at_once(locked, step, actor)
    elif step.spec.fallbacks and _may_fall_back(step) and fall_back.may_undo_first(locked, step):
        fall_back.undo_first(locked, step, actor, f"{step.name}: {reason}")
    elif step.spec.is_optional:
        locked.move(step, StepState.SKIPPED, "skipped", actor, public=True, reason=reason)
        locked.alert("step_skipped", step, reason=message)
    elif not locked.is_forward:
        # The process is in error already, because of another step: an operator sees both.
        locked.alert("process_error", step, is_counted=is_counted, reason=message)
    elif _is_refused(step) and not compensation.is_past_no_return(locked):
        compensation.begin(locked, ProcessState.COMPENSATED, actor, f"{step.name}: {reason}")
    elif _is_refused(step) or _is_of_our_side(step):
        _stop(locked, step, actor, reason)
    elif step.spec.on_failure == "wait" and not _is_waited_for_in_vain(locked, step):
        _wait(locked, step, actor)
    elif step.spec.on_failure == "ask":
        locked.alert("decision_needed", step, is_counted=is_counted, reason=message)
    elif step.spec.on_failure == "compensate" and not compensation.is_past_no_return(locked):
        compensation.begin(locked, ProcessState.COMPENSATED, actor, f"{step.name}: {reason}")
        locked.alert("process_compensating", step, reason=message)
    else:
        _stop(locked, step, actor, reason)


def _message_of(step: StepRow) -> str:
    return step.fault.message if step.fault is not None else ""


def is_unjudged(step: StepRow) -> bool:
    """Say whether the step failed because its condition could not be evaluated."""
    return step.fault is not None and step.fault.code == CONDITION_FAILED


def _is_refused(step: StepRow) -> bool:
    """Say whether the business said no: another agent would only get the same answer."""
    return step.fault is not None and step.fault.kind == "refused"


def _is_of_our_side(step: StepRow) -> bool:
    """Say whether the service refused us, not the step: nothing is undone or bought elsewhere."""
    return step.fault is not None and step.fault.refusals is not UNSET


def _may_fall_back(step: StepRow) -> bool:
    return not (is_unjudged(step) or _is_refused(step) or _is_of_our_side(step))


def _is_waited_for_in_vain(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether the step could not be called even after the wait."""
    return is_unjudged(step) or evidence.is_doubtful(step, locked.now)


def carry_out_deadline(locked: LockedProcess, actor: str) -> None:
    """Deal with a passed deadline of the process, once.

    Undoes the process, unless its workflow only wants an alert or its point of no return is
    passed.  A compensating process no longer has a deadline.
    """
    process = locked.process
    if process.outcome == ProcessState.PROCESSING:
        # The process begins again; the deadline counts from then on.
        return
    deadline, process.deadline_at = process.deadline_at, None
    locked.touch_process()
    if deadline is None or process.state in FINAL_PROCESS_STATES or locked.is_being_undone:
        return
    locked.note("deadline_passed", actor, public=True, detail={"deadline_at": deadline.isoformat()})
    is_undone = process.on_deadline == "compensate" and not compensation.is_past_no_return(locked)
    locked.alert(
        "deadline_passed",
        deadline_at=deadline.isoformat(),
        says=["undone" if is_undone else "goes_on"],
    )
    if is_undone:
        compensation.begin(locked, ProcessState.COMPENSATED, actor, "its deadline has passed")


def _stop(locked: LockedProcess, step: StepRow, actor: str, reason: str) -> None:
    if locked.process.state == ProcessState.PENDING:
        # The step failed before any step was claimed.
        locked.move_process(ProcessState.PROCESSING, "started", actor)
    locked.move_process(ProcessState.ERROR, "error", actor, step=step.name, reason=reason)
    locked.alert("process_error", step, reason=_message_of(step))


def _wait(locked: LockedProcess, step: StepRow, actor: str) -> None:
    locked.touch(step)
    step.give_attempts_back()
    step.not_before = locked.now + timedelta(seconds=step.spec.wait_seconds)
    locked.move(
        step,
        StepState.PENDING,
        "waits_long",
        actor,
        public=True,
        not_before=step.not_before.isoformat(),
    )
