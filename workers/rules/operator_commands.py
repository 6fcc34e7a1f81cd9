"""What operators do to a process and its steps: pure decisions on a locked process.

Each is journalled with who and why, and raises ``StateError``, changing nothing, where the
state forbids it.
"""

from datetime import timedelta
from typing import Any

from workers.definitions.checked_values import TIMEOUT_SECONDS
from workers.definitions.effects import is_doubtful
from workers.exceptions import MessageError, StateError
from workers.protocol.messages import storable
from workers.rules import compensation, evidence, external_answers
from workers.rules.apply_reply import apply_result
from workers.rules.on_failure import is_unjudged
from workers.rules.refusals import refused
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES, LIVE_STEP_STATES, ProcessState, StepState

#: Bounds of a step's timeout in seconds; longer work defers.
SHORTEST, LONGEST = 1, TIMEOUT_SECONDS
#: The longest time in seconds for which a deferred answer is waited for.
LONGEST_DEFERRAL = 366 * 86_400


def doubtful(locked: LockedProcess) -> list[str]:
    """Return the names of the steps in error whose outcome only a person can find out."""
    failed = (step for step in locked.active_steps if step.state == StepState.ERROR)
    return [step.name for step in failed if is_doubtful(step, locked.now)]


def resubmit(
    locked: LockedProcess, actor: str, reason: str, *, nothing_happened: bool = False
) -> list[str]:
    """Return every step in error to pending with its attempts given back; return their names.

    A step whose outcome only a person can find out is refused, unless the operator says
    that ``nothing_happened``: then it may be called again.
    """
    process = locked.process
    failed = [step for step in locked.active_steps if step.state == StepState.ERROR]
    is_asked = process.state == ProcessState.PROCESSING and not process.needs_decision
    if not failed or not (process.state == ProcessState.ERROR or is_asked):
        raise refused("nothing_in_error", subject=process.subject, state=process.state)
    by_hand = [step.name for step in failed if compensation.is_a_persons(locked, step)]
    if by_hand:
        raise refused("done_by_hand", steps=by_hand)
    unknown = doubtful(locked)
    if unknown and not nothing_happened:
        raise refused("outcome_unknown", steps=unknown)
    names = [step.name for step in failed]
    if process.state == ProcessState.ERROR:
        locked.move_process(locked.active_state, "resubmitted", actor, reason=reason, steps=names)
    process.needs_decision = False
    for step in failed:
        counted = step.failure_count
        locked.touch(step)
        step.give_attempts_back()
        step.not_before = locked.now
        if step.name in unknown:
            evidence.nothing_happened(step)
        locked.move(
            step,
            # Its condition is asked again.
            StepState.WAITING if is_unjudged(step) else StepState.PENDING,
            "resubmitted",
            actor,
            reason=reason,
            failure_count=counted,
            nothing_happened=(step.name in unknown) or None,
        )
    return names


def redo(
    locked: LockedProcess, name: str, actor: str, reason: str, *, may_happen_twice: bool = False
) -> list[str]:
    """Do a skipped step again, with its attempts given back; return its name if in doubt, or none.

    What comes after it and has not begun waits for it.  A processed process goes on for it, and is
    past its point of no return: it stays so final that nothing of it is undone.
    ``may_happen_twice`` says of a call whose outcome only a person can find out that it is to be
    repeated, under its key as it was, all the same.
    """
    step = locked.named(name, locked.forward_steps)
    _refuse_to_redo(locked, step, may_happen_twice=may_happen_twice)
    return _redo(locked, step, actor, reason)


def _redo(locked: LockedProcess, step: StepRow, actor: str, reason: str) -> list[str]:
    process = locked.process
    is_repeated = is_doubtful(step, locked.now)
    counted = step.failure_count
    if process.state == ProcessState.PROCESSED:
        locked.move_process(
            ProcessState.PROCESSING, "resubmitted", actor, reason=reason, steps=[step.name]
        )
        # It has ended in time, and as it should: no deadline and no failure undoes it now.
        process.deadline_at = None
        process.no_return = [
            one.name for one in locked.forward_steps if one.state == StepState.PROCESSED
        ]
    locked.touch(step)
    step.give_attempts_back()
    step.not_before = locked.now
    if is_repeated:
        evidence.may_happen_twice(step)
    # Its condition is asked again where nothing tells that it was true.
    waits = is_unjudged(step) or _may_be_unwanted(step)
    waits = waits or not locked.unsettled().isdisjoint(step.after)
    locked.move(
        step,
        StepState.WAITING if waits else StepState.PENDING,
        "resubmitted",
        actor,
        reason=reason,
        failure_count=counted,
        may_happen_twice=is_repeated or None,
    )
    unsettled = locked.unsettled()
    for later in locked.forward_steps:
        has_begun = later.state != StepState.PENDING or later.began_at is not None
        if not has_begun and not unsettled.isdisjoint(later.after):
            later.not_before = None
            locked.move(later, StepState.WAITING, "resubmitted", actor)
    return [step.name] if is_repeated else []


def left_out(locked: LockedProcess) -> list[str]:
    """Return the names of the optional steps that were skipped because they failed."""
    return [
        step.name
        for step in locked.forward_steps
        if step.state == StepState.SKIPPED and step.is_optional and step.fault is not None
    ]


def redo_left_out(
    locked: LockedProcess, actor: str, reason: str, *, may_happen_twice: bool = False
) -> list[str]:
    """Do ``redo`` to every optional step that failed, or to none; return which may happen twice."""
    steps = [locked.named(name, locked.forward_steps) for name in left_out(locked)]
    if not steps:
        raise refused("nothing_left_out", subject=locked.process.subject)
    # All before the first, after which a processed process goes on.
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
    if _may_be_unwanted(step) and step.attempt == 0 and step.not_before is None:
        raise refused("condition_was_false", step=step.name)
    if not is_doubtful(step, locked.now):
        return
    if step.has_undo and not is_processed:
        raise refused("redo_undoes_first", step=step.name)
    if not may_happen_twice:
        raise refused("may_happen_twice", step=step.name)


def _may_be_unwanted(step: StepRow) -> bool:
    """Say whether a skipped step may have been skipped because its condition was false."""
    return step.is_judged and step.fault is None


def pause(locked: LockedProcess, actor: str, reason: str) -> None:
    """Stop claiming steps of the process; what is in flight runs to its end."""
    process = locked.process
    if process.state in FINAL_PROCESS_STATES:
        raise refused("nothing_to_pause", subject=process.subject, state=process.state)
    if locked.is_paused:
        raise refused("paused_already", subject=process.subject)
    locked.touch_process()
    locked.process.paused_at = locked.now
    locked.note("paused", actor, public=True, detail={"reason": reason})


def resume(locked: LockedProcess, actor: str, reason: str) -> None:
    """Let a paused process go on."""
    if not locked.is_paused:
        raise refused("not_paused", subject=locked.process.subject)
    locked.touch_process()
    locked.process.paused_at = None
    locked.note("unpaused", actor, public=True, detail={"reason": reason})


def retry_now(locked: LockedProcess, name: str, actor: str, reason: str) -> None:
    """Skip what is left of a step's backoff, delay or rest; its counts stay."""
    step = locked.named(name)
    if step.state != StepState.PENDING or step.not_before is None:
        raise refused("step_not_resting", step=name, state=step.state)
    if step.not_before <= locked.now:
        raise refused("step_due", step=name)
    locked.touch(step)
    before, step.not_before = step.not_before, locked.now
    _note(locked, step, "hurried", actor, reason, not_before=[before.isoformat(), None])


def resting(locked: LockedProcess) -> list[str]:
    """Return the names of the steps that wait for an instant."""
    return [
        step.name
        for step in locked.steps
        if step.state == StepState.PENDING and (step.not_before or locked.now) > locked.now
    ]


def retry_resting(locked: LockedProcess, actor: str, reason: str) -> list[str]:
    """Do ``retry_now`` to every step that waits for an instant; return their names."""
    names = resting(locked)
    if not names:
        raise refused("nothing_rests", subject=locked.process.subject)
    for name in names:
        retry_now(locked, name, actor, reason)
    return names


def retime(locked: LockedProcess, name: str, seconds: int, actor: str, reason: str) -> None:
    """Set the time a step has.

    A shorter one acts at once.  A longer one acts at the next claim: at once where nobody
    has started (the claim is made anew) or a callback is waited for, and else once the
    present attempt has ended, for its worker keeps the limit it was given.
    """
    step = locked.named(name)
    is_over = locked.process.state in FINAL_PROCESS_STATES or locked.is_given_up(step)
    if is_over or step.state not in (StepState.WAITING, *LIVE_STEP_STATES):
        raise StateError(f"Step {name} is {step.state}: its time does not matter any more.")
    longest = LONGEST_DEFERRAL if step.is_deferred else LONGEST
    if not SHORTEST <= seconds <= longest:
        raise StateError(
            f"The time of step {name} must be {SHORTEST} to {longest} seconds, got {seconds}."
        )
    if step.is_deferred:
        _retime_answer(locked, step, seconds, actor, reason)
    elif seconds == step.timeout_seconds:
        raise StateError(f"Step {name} has {seconds} s already.")
    else:
        _retime_attempts(locked, step, seconds, actor, reason)


def _retime_answer(
    locked: LockedProcess, step: StepRow, seconds: int, actor: str, reason: str
) -> None:
    """Set how long, from now on, an answer is waited for."""
    locked.touch(step)
    before = step.complete_by.isoformat() if step.complete_by else None
    step.complete_by = locked.now + timedelta(seconds=seconds)
    change = [before, step.complete_by.isoformat()]
    _note(locked, step, "retimed", actor, reason, complete_by=change)


def _retime_attempts(
    locked: LockedProcess, step: StepRow, seconds: int, actor: str, reason: str
) -> None:
    """Set the time of each attempt; the present one gets no more than it was given."""
    locked.touch(step)
    change = [step.timeout_seconds, seconds]
    step.timeout_seconds = seconds
    if step.is_at_work and step.started_at is not None and step.complete_by is not None:
        # Over at once where its time is up by now, and not since long ago.
        end = max(step.started_at + timedelta(seconds=seconds), locked.now)
        step.complete_by = min(step.complete_by, end)
    _note(locked, step, "retimed", actor, reason, timeout_seconds=change)
    if step.state == StepState.PROCESSING and step.started_at is None:
        step.not_before = locked.now
        reason = "an operator set its time"
        locked.move(step, StepState.PENDING, "handed_back", actor, reason=reason)


def complete(
    locked: LockedProcess, name: str, result: dict[str, Any], actor: str, reason: str
) -> None:
    """Mark a step as done, because somebody did it by hand or knows that it happened.

    Its effect counts as real, and as a person's: should the process be undone, a person undoes it.
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
    """Go on without a step.  What it may have done is still undone, should it come to that."""
    step = locked.named(name)
    if step.undoes_id is not None:
        raise StateError(
            f"{name} undoes something and cannot be skipped. Undo it by hand, then complete it."
        )
    _refuse_unless_idle(locked, step, "skipped")
    locked.move(step, StepState.SKIPPED, "skipped", actor, public=True, by_hand=True, reason=reason)
    external_answers.resume(locked, actor)


def _refuse_unless_idle(locked: LockedProcess, step: StepRow, done: str) -> None:
    if step.is_at_work:
        raise StateError(
            f"An agent is at work on step {step.name} until {step.complete_by:%H:%M:%S} UTC. "
            "Wait for its answer or its deadline."
        )
    if step.state not in LIVE_STEP_STATES or locked.is_given_up(step):
        raise StateError(f"Step {step.name} is {step.state} and cannot be {done}.")


def _note(
    locked: LockedProcess, step: StepRow, event: str, actor: str, reason: str, **detail: Any
) -> None:
    locked.note(
        event, actor, step=step, detail={"step": step.name, "reason": reason or None, **detail}
    )
