"""Carry out operators' commands on a locked process and its steps.  Pure.

Each command is journalled with its actor and reason, and raises ``StateError``, changing nothing,
if the state forbids it.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from workers.definitions import registry
from workers.definitions.checked_values import TIMEOUT_SECONDS
from workers.definitions.children import CHILDREN
from workers.exceptions import MessageError, StateError
from workers.protocol.messages import storable
from workers.rules import calling_off, compensation, evidence, external_answers
from workers.rules.apply_reply import apply_result
from workers.rules.on_failure import is_unjudged
from workers.rules.refusals import refused
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.runtime import timestamps
from workers.states import FINAL_PROCESS_STATES, LIVE_STEP_STATES, ProcessState, StepState

#: Bounds of a step's timeout in seconds; longer work defers.
SHORTEST, LONGEST = 1, TIMEOUT_SECONDS
#: The longest time to wait for a deferred answer, in seconds.
LONGEST_DEFERRAL = 366 * 86_400


def doubtful(locked: LockedProcess) -> list[str]:
    """Return the names of the steps in error whose outcome only a person can determine."""
    failed = (step for step in locked.active_steps if step.state == StepState.ERROR)
    return [
        step.name
        for step in failed
        if evidence.is_doubtful(step, locked.now) or compensation.is_forgotten(locked, step)
    ]


def resubmit(
    locked: LockedProcess, actor: str, reason: str, *, nothing_happened: bool = False
) -> list[str]:
    """Make every step in error pending again, with all its attempts; return their names.

    Refuses a step whose outcome only a person can determine, unless the operator says that
    ``nothing_happened``: then it may be called again.
    """
    process = locked.process
    failed = [step for step in locked.active_steps if step.state == StepState.ERROR]
    is_asked = process.state == ProcessState.PROCESSING and not process.needs_decision
    if not failed or not (process.state == ProcessState.ERROR or is_asked):
        raise refused("nothing_in_error", subject=process.subject, state=process.state)
    by_hand = [step.name for step in failed if compensation.is_a_persons(locked, step)]
    if by_hand:
        raise refused("done_by_hand", steps=by_hand)
    doubtful_names = doubtful(locked)
    if doubtful_names and not nothing_happened:
        raise refused("outcome_unknown", steps=doubtful_names)
    names = [step.name for step in failed]
    if process.state == ProcessState.ERROR:
        locked.move_process(locked.active_state, "resubmitted", actor, reason=reason, steps=names)
    process.needs_decision = False
    for step in failed:
        failures = step.failure_count
        locked.touch(step)
        step.give_attempts_back()
        step.not_before = locked.now
        if step.name in doubtful_names:
            evidence.nothing_happened(step)
            if compensation.is_forgotten(locked, step):
                # What nobody knew was whether there is anything to undo.
                forward = compensation.forward_of(locked, step)
                locked.touch(forward)
                evidence.nothing_happened(forward)
        locked.move(
            step,
            # Its condition is evaluated again.
            StepState.WAITING if is_unjudged(step) else StepState.PENDING,
            "resubmitted",
            actor,
            reason=reason,
            failure_count=failures,
            nothing_happened=(step.name in doubtful_names) or None,
        )
    return names


def redo(
    locked: LockedProcess, name: str, actor: str, reason: str, *, may_happen_twice: bool = False
) -> list[str]:
    """Do a skipped step again, with all its attempts; return its name if it may happen twice.

    Later steps that have not begun wait for it.  A processed process resumes for it and counts as
    past its point of no return, so nothing in it is undone.  ``may_happen_twice`` repeats a call
    whose outcome only a person can determine, under its old key.
    """
    step = locked.named(name, locked.forward_steps)
    _refuse_to_redo(locked, step, may_happen_twice=may_happen_twice)
    return _redo(locked, step, actor, reason)


def _redo(locked: LockedProcess, step: StepRow, actor: str, reason: str) -> list[str]:
    process = locked.process
    is_repeated = evidence.is_doubtful(step, locked.now)
    failures = step.failure_count
    if process.state == ProcessState.PROCESSED:
        locked.move_process(
            ProcessState.PROCESSING, "resubmitted", actor, reason=reason, steps=[step.name]
        )
        # The process had ended well and in time: no deadline and no failure may undo it now.
        process.deadline_at = None
        process.no_return = [
            other.name for other in locked.forward_steps if other.state == StepState.PROCESSED
        ]
    locked.touch(step)
    step.give_attempts_back()
    step.not_before = locked.now
    if is_repeated:
        evidence.may_happen_twice(step)
    # Evaluate its condition again unless it is known to have been true.
    waits = is_unjudged(step) or _may_be_unwanted(step)
    waits = waits or not locked.unsettled().isdisjoint(step.spec.after)
    locked.move(
        step,
        StepState.WAITING if waits else StepState.PENDING,
        "resubmitted",
        actor,
        reason=reason,
        failure_count=failures,
        may_happen_twice=is_repeated or None,
    )
    unsettled = locked.unsettled()
    for later in locked.forward_steps:
        has_begun = later.state != StepState.PENDING or later.began_at is not None
        if not has_begun and not unsettled.isdisjoint(later.spec.after):
            later.not_before = None
            locked.move(later, StepState.WAITING, "resubmitted", actor)
    return [step.name] if is_repeated else []


def left_out(locked: LockedProcess) -> list[str]:
    """Return the names of the optional steps that were skipped because they failed."""
    return [
        step.name
        for step in locked.forward_steps
        if step.state == StepState.SKIPPED and step.spec.is_optional and step.fault is not None
    ]


def redo_left_out(
    locked: LockedProcess, actor: str, reason: str, *, may_happen_twice: bool = False
) -> list[str]:
    """Redo every optional step that failed, or none; return the names that may happen twice."""
    steps = [locked.named(name, locked.forward_steps) for name in left_out(locked)]
    if not steps:
        raise refused("nothing_left_out", subject=locked.process.subject)
    # Check all before redoing the first, which resumes a processed process.
    for step in steps:
        _refuse_to_redo(locked, step, may_happen_twice=may_happen_twice)
    return [name for step in steps for name in _redo(locked, step, actor, reason)]


def _refuse_to_redo(locked: LockedProcess, step: StepRow, *, may_happen_twice: bool) -> None:
    process = locked.process
    if step.state != StepState.SKIPPED:
        raise refused("not_skipped", step=step.name, state=step.state)
    is_processed = process.state == ProcessState.PROCESSED
    if not (locked.is_forward or is_processed):
        raise refused("redo_too_late", subject=process.subject, state=process.state)
    if process.erased_at is not None:
        raise refused("erased", subject=process.subject)
    was_false = _may_be_unwanted(step) and step.attempt == 0 and step.not_before is None
    if was_false or calling_off.is_needless(locked, step):
        raise refused("condition_was_false", step=step.name)
    if not evidence.is_doubtful(step, locked.now):
        return
    if step.has_undo and not is_processed:
        raise refused("redo_undoes_first", step=step.name)
    if not may_happen_twice:
        raise refused("may_happen_twice", step=step.name)


def _may_be_unwanted(step: StepRow) -> bool:
    """Say whether a skipped step may have been skipped because its condition was false."""
    return step.spec.is_judged and step.fault is None


def pause(locked: LockedProcess, actor: str, reason: str) -> None:
    """Stop claiming steps of the process; calls in flight run to their end."""
    process = locked.process
    if process.state in FINAL_PROCESS_STATES:
        raise refused("nothing_to_pause", subject=process.subject, state=process.state)
    if locked.is_paused:
        raise refused("paused_already", subject=process.subject)
    locked.touch_process()
    locked.process.paused_at = locked.now
    locked.note("paused", actor, public=True, detail={"reason": reason})


def resume(locked: LockedProcess, actor: str, reason: str) -> None:
    """Resume a paused process."""
    if not locked.is_paused:
        raise refused("not_paused", subject=locked.process.subject)
    locked.touch_process()
    locked.process.paused_at = None
    locked.note("unpaused", actor, public=True, detail={"reason": reason})


def retry_now(locked: LockedProcess, name: str, actor: str, reason: str) -> None:
    """End a step's backoff, delay or wait now; its counts stay."""
    step = locked.named(name)
    if step.state != StepState.PENDING or step.not_before is None:
        raise refused("step_not_resting", step=name, state=step.state)
    if step.not_before <= locked.now:
        raise refused("step_due", step=name)
    locked.touch(step)
    planned, step.not_before = step.not_before, locked.now
    _note(locked, step, "hurried", actor, reason, not_before=[planned.isoformat(), None])


def postpone(locked: LockedProcess, name: str, until: datetime, actor: str, reason: str) -> None:
    """Have a pending step wait until ``until``; its counts stay, and the time is not its own."""
    step = refuse_to_postpone(locked, name)
    if until == step.not_before:
        raise refused("step_postponed_already", step=name, until=timestamps.full(until))
    latest = locked.now + timedelta(seconds=LONGEST_DEFERRAL)
    if not locked.now < until <= latest:
        bounds = {"latest": timestamps.full(latest), "until": timestamps.full(until)}
        raise refused("step_postponed_too_far", **bounds)
    locked.touch(step)
    planned, step.not_before = step.not_before, until
    step.leave_out(until - max(planned or locked.now, locked.now))
    change = [planned and planned.isoformat(), until.isoformat()]
    _note(locked, step, "postponed", actor, reason, not_before=change)


def refuse_to_postpone(locked: LockedProcess, name: str) -> StepRow:
    """Return the step, or raise ``StateError`` if it waits for no call."""
    step = locked.named(name)
    if step.state != StepState.PENDING or locked.process.state in FINAL_PROCESS_STATES:
        raise refused("step_not_pending", step=name, state=step.state)
    return step


def resting(locked: LockedProcess) -> list[str]:
    """Return the names of the steps that wait for their ``not_before``."""
    return [
        step.name
        for step in locked.steps
        if step.state == StepState.PENDING and (step.not_before or locked.now) > locked.now
    ]


def retry_resting(locked: LockedProcess, actor: str, reason: str) -> list[str]:
    """Apply ``retry_now`` to every step that waits for its ``not_before``; return their names."""
    names = resting(locked)
    if not names:
        raise refused("nothing_rests", subject=locked.process.subject)
    for name in names:
        retry_now(locked, name, actor, reason)
    return names


def retime(locked: LockedProcess, name: str, seconds: int, actor: str, reason: str) -> None:
    """Set the timeout of a step.

    A shorter timeout takes effect at once.  A longer one takes effect with the next claim: at once
    if the step waits for a callback, else once the current attempt has ended, because its worker
    keeps the limit it started with.
    """
    step = locked.named(name)
    is_over = locked.process.state in FINAL_PROCESS_STATES or locked.is_given_up(step)
    if is_over or step.state not in (StepState.WAITING, *LIVE_STEP_STATES):
        raise StateError(f"Step {name} is {step.state}: its time does not matter any more.")
    longest = LONGEST_DEFERRAL if step.is_deferred else LONGEST
    if step.agent == CHILDREN:
        raise StateError(
            f"Step {name} takes as long as its children. Change the times of their steps."
        )
    if not SHORTEST <= seconds <= longest:
        raise StateError(
            f"The time of step {name} must be {SHORTEST} to {longest} seconds, got {seconds}."
        )
    if step.is_deferred:
        _retime_answer(locked, step, seconds, actor, reason)
    elif seconds == step.spec.timeout_seconds:
        raise StateError(f"Step {name} has {seconds} s already.")
    else:
        _retime_attempts(locked, step, seconds, actor, reason)


def _retime_answer(
    locked: LockedProcess, step: StepRow, seconds: int, actor: str, reason: str
) -> None:
    """Set how long to wait for an answer, from now on."""
    locked.touch(step)
    old_time = step.complete_by.isoformat() if step.complete_by else None
    step.complete_by = locked.now + timedelta(seconds=seconds)
    change = [old_time, step.complete_by.isoformat()]
    _note(locked, step, "retimed", actor, reason, complete_by=change)


def _retime_attempts(
    locked: LockedProcess, step: StepRow, seconds: int, actor: str, reason: str
) -> None:
    """Set the timeout of each attempt; the current attempt can only get less."""
    locked.touch(step)
    change = [step.spec.timeout_seconds, seconds]
    step.spec = replace(step.spec, timeout_seconds=seconds)
    if step.is_at_work and step.started_at is not None and step.complete_by is not None:
        # If its time is already up, it ends now, not in the past.
        end = max(step.started_at + timedelta(seconds=seconds), locked.now)
        step.complete_by = min(step.complete_by, end)
    _note(locked, step, "retimed", actor, reason, timeout_seconds=change)


def complete(
    locked: LockedProcess, name: str, result: dict[str, Any], actor: str, reason: str
) -> None:
    """Mark a step as done, because a person did it by hand or knows that it happened.

    Its effect counts as real and as done by hand: if the process is undone, a person undoes it.
    """
    step = locked.named(name)
    _refuse_unless_idle(locked, step, "completed")
    try:
        storable(result)
    except MessageError as error:
        raise StateError(str(error)) from None
    locked.touch(step)
    evidence.done_by_hand(step)
    apply_result(locked, step, result, actor, by_hand=True, reason=reason)
    external_answers.resume(locked, actor)


def skip(locked: LockedProcess, name: str, actor: str, reason: str) -> None:
    """Go on without a step.  If the process is undone, its possible effect is undone, too.

    An agent that undoes steps elsewhere gives money or goods back here, too, such as a refund of a
    return: skipped, it would be owed without a word.
    """
    step = locked.named(name)
    if step.undoes_id is not None or step.agent in registry.undo_agents():
        raise StateError(
            f"{name} undoes something and cannot be skipped. Undo it by hand, then complete it."
        )
    _refuse_unless_idle(locked, step, "skipped")
    if step.is_deferred:
        # The service that accepted the call may yet do the work.
        evidence.ended_silent(step)
    # A person left it out, not its failure, which raises an alert that says so.
    locked.touch(step)
    step.fault = None
    locked.move(step, StepState.SKIPPED, "skipped", actor, public=True, by_hand=True, reason=reason)
    external_answers.resume(locked, actor)


def _refuse_unless_idle(locked: LockedProcess, step: StepRow, verb: str) -> None:
    if step.is_at_work:
        raise StateError(
            f"An agent is at work on step {step.name} until {step.complete_by:%H:%M:%S} UTC. "
            "Wait for its answer or its deadline."
        )
    if step.state not in LIVE_STEP_STATES or locked.is_given_up(step):
        raise StateError(f"Step {step.name} is {step.state} and cannot be {verb}.")


def _note(
    locked: LockedProcess, step: StepRow, event: str, actor: str, reason: str, **detail: Any
) -> None:
    locked.note(
        event, actor, step=step, detail={"step": step.name, "reason": reason or None, **detail}
    )
