"""What operators do to a process and its steps: pure decisions on a locked process.

Each is journalled with who and why, and raises ``StateError``, changing nothing, where the
state forbids it.
"""

from datetime import timedelta
from typing import Any

from workers.definitions.checked_values import TIMEOUT_SECONDS
from workers.definitions.effects import Effect, is_doubtful
from workers.exceptions import MessageError, StateError
from workers.protocol.messages import storable
from workers.rules import external_answers
from workers.rules.apply_reply import apply_result
from workers.rules.on_failure import is_unjudged
from workers.rules.refusals import refused
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES, ProcessState, StepState

#: Bounds of a step's timeout in seconds; longer work defers.
SHORTEST, LONGEST = 1, TIMEOUT_SECONDS
#: The longest time in seconds for which a deferred answer is waited for.
LONGEST_DEFERRAL = 366 * 86_400
_DONE = frozenset(
    {StepState.PROCESSED, StepState.SKIPPED, StepState.COMPENSATED, StepState.CANCELLED}
)


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
    doubtful = [step.name for step in failed if is_doubtful(step, locked.now)]
    if doubtful and not nothing_happened:
        raise refused("outcome_unknown", steps=doubtful)
    names = [step.name for step in failed]
    if process.state == ProcessState.ERROR:
        locked.move_process(locked.active_state, "resubmitted", actor, reason=reason, steps=names)
    process.needs_decision = False
    for step in failed:
        counted = step.failure_count
        locked.touch(step)
        step.give_attempts_back()
        step.not_before = locked.now
        if step.name in doubtful:
            step.may_have_effect = step.is_in_doubt = False
            step.key_used_at = None
        locked.move(
            step,
            # Its condition is asked again.
            StepState.WAITING if is_unjudged(step) else StepState.PENDING,
            "resubmitted",
            actor,
            reason=reason,
            failure_count=counted,
            nothing_happened=(step.name in doubtful) or None,
        )
    return names


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
        if step.state == StepState.PENDING
        and step.not_before is not None
        and step.not_before > locked.now
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
    if is_over or step.state in _DONE:
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

    Its effect counts as real: should the process be undone, this is undone too.
    """
    step = locked.named(name)
    _refuse_unless_idle(locked, step, "completed")
    try:
        storable(result)
    except MessageError as error:
        raise StateError(str(error)) from None
    locked.touch(step)
    step.may_have_effect = step.effect != Effect.NONE
    step.is_in_doubt = False
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
    is_idle = step.state in (StepState.PENDING, StepState.ERROR) or (
        step.state == StepState.PROCESSING and not step.is_at_work
    )
    if step.is_at_work:
        raise StateError(
            f"An agent is at work on step {step.name} until {step.complete_by:%H:%M:%S} UTC. "
            "Wait for its answer or its deadline."
        )
    if not is_idle or locked.is_given_up(step):
        raise StateError(f"Step {step.name} is {step.state} and cannot be {done}.")


def _note(
    locked: LockedProcess, step: StepRow, event: str, actor: str, reason: str, **detail: Any
) -> None:
    locked.note(
        event, actor, step=step, detail={"step": step.name, "reason": reason or None, **detail}
    )
