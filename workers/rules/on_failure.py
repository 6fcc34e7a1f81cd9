"""What follows when a step has failed for good: pure decisions on a locked process.

In this order: the next fall-back agent, where the business has not said no, and what is possible
of an effect is or can be undone first; skip, where the step is optional; compensate, waking
nobody, where the business said no; otherwise what the step declares: error, compensate, wait, or
ask, which lets the other branches go on meanwhile.  Nothing is undone past the point of no return:
there a failure goes to an operator.
"""

from datetime import timedelta

from workers.definitions.effects import is_doubtful
from workers.rules import compensation, evidence, fall_back
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES, ProcessState, StepState

#: Code of the fault of a step whose condition could not be asked.
CONDITION_FAILED = "condition_failed"


def carry_out(locked: LockedProcess, step: StepRow, actor: str, *, is_counted: bool = True) -> None:
    """Carry out the policy of a step in error.

    Without ``is_counted``, for callers that look at every step in error again, an alert that
    is open already does not count one more time.
    """
    told = _message_of(step)
    reason = told or "no reason was given"
    if step.undoes_id is not None:
        locked.alert("undo_stuck", step, is_counted=is_counted, reason=told)
    elif locked.is_being_undone:
        return
    elif step.fallbacks and evidence.is_none(step) and _may_fall_back(step):
        fall_back.at_once(locked, step, actor)
    elif step.fallbacks and _may_fall_back(step) and fall_back.may_undo_first(locked, step):
        fall_back.undo_first(locked, step, actor, f"{step.name}: {reason}")
    elif step.is_optional:
        locked.move(step, StepState.SKIPPED, "skipped", actor, public=True, reason=reason)
        locked.alert("step_skipped", step, reason=told)
    elif not locked.is_forward:
        # In error already, because of another step: an operator sees both.
        locked.alert("process_error", step, is_counted=is_counted, reason=told)
    elif _is_refused(step) and not compensation.is_past_no_return(locked):
        compensation.begin(locked, ProcessState.COMPENSATED, actor, f"{step.name}: {reason}")
    elif _is_refused(step):
        _stop(locked, step, actor, reason)
    elif step.on_failure == "wait" and not _is_waited_for_in_vain(locked, step):
        _wait(locked, step, actor)
    elif step.on_failure == "ask":
        locked.alert("decision_needed", step, is_counted=is_counted, reason=told)
    elif step.on_failure == "compensate" and not compensation.is_past_no_return(locked):
        compensation.begin(locked, ProcessState.COMPENSATED, actor, f"{step.name}: {reason}")
        locked.alert("process_compensating", step, reason=told)
    else:
        _stop(locked, step, actor, reason)


def _message_of(step: StepRow) -> str:
    return step.fault.message if step.fault is not None else ""


def is_unjudged(step: StepRow) -> bool:
    """Say whether nobody could tell if the step is wanted at all."""
    return step.fault is not None and step.fault.code == CONDITION_FAILED


def _is_refused(step: StepRow) -> bool:
    """Say whether the business said no: another agent would only ask the same again."""
    return step.fault is not None and step.fault.kind == "refused"


def _may_fall_back(step: StepRow) -> bool:
    return not (is_unjudged(step) or _is_refused(step))


def _is_waited_for_in_vain(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether the step could not be called after the wait either."""
    return is_unjudged(step) or is_doubtful(step, locked.now)


def carry_out_deadline(locked: LockedProcess, actor: str) -> None:
    """Deal with the date by which the process should have ended, once.

    Undone, unless the workflow only wants to be told or the point of no return is passed.
    A compensating process has no such date any more.
    """
    process = locked.process
    if process.outcome == ProcessState.PROCESSING:
        # It begins again, and then the date counts.
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
        # It failed before anything was claimed.
        locked.move_process(ProcessState.PROCESSING, "started", actor)
    locked.move_process(ProcessState.ERROR, "error", actor, step=step.name, reason=reason)
    locked.alert("process_error", step, reason=_message_of(step))


def _wait(locked: LockedProcess, step: StepRow, actor: str) -> None:
    locked.touch(step)
    step.give_attempts_back()
    step.not_before = locked.now + timedelta(seconds=step.wait_seconds)
    locked.move(
        step,
        StepState.PENDING,
        "waits_long",
        actor,
        public=True,
        not_before=step.not_before.isoformat(),
    )
