"""A success that contradicts how its step ended: the last sign that money moved.  Pure.

Its step was undone, failed and given up, skipped, or done by a person.  The undo may have reached
the service before the call took effect: it is called once more, under the same key, even if the
process has ended, and an alert asks an operator to look.  What a person did or undid is left to a
person: an undo beside theirs would give back twice.
"""

from typing import Any

from workers.definitions.effects import Effect
from workers.protocol.messages import Reply
from workers.rules import evidence
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES, SETTLED_STEP_STATES, ProcessState, StepState

_ENDED = SETTLED_STEP_STATES
_GIVEN_UP = frozenset({StepState.COMPENSATED, StepState.CANCELLED, StepState.ERROR})


def is_late(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether a success is news about a step that was called and then ended without it."""
    if step.spec.effect == Effect.NONE or not evidence.may_have_been_called(step):
        return False
    if step.state in _ENDED:
        return step.state == StepState.SKIPPED or step.is_by_hand
    had_result = step.result is not None or step.id in locked.results_as_read
    is_news = step.is_by_hand or not had_result
    return step.state in _GIVEN_UP and is_news and locked.is_given_up(step)


def of_reply(locked: LockedProcess, step: StepRow, reply: Reply, actor: str) -> bool:
    """Record the success of a call whose claim no longer holds.  False: it is no news."""
    if reply.result is None or step.spec.effect == Effect.NONE:
        return False
    body = {"result": reply.result}
    if is_former(step, reply.key):
        take_former(locked, step, reply.key, body, actor)
        return True
    is_news = reply.key == step.idempotency_key and is_late(locked, step)
    return is_news and take(locked, step, body, actor)


def take(locked: LockedProcess, step: StepRow, body: dict[str, Any], actor: str) -> bool:
    """Record a late success in the journal, and have it undone.  False: it was recorded before."""
    if step.early is not None:
        return False
    locked.touch(step)
    step.early = body
    undo = _undo_of(locked, step)
    says = _what_follows(step, undo)
    if step.state in _ENDED:
        evidence.happened_beside(step)
    elif undo is not None and says != "beside":
        # Without an undo step, no call was made or nothing can undo it: a person has to look.
        evidence.ended_well(step)
    detail = {"step": step.name, "answer": body}
    locked.note("late_success", actor, step=step, attempt=step.attempt, detail=detail)
    if says:
        locked.alert("late_success", step, says=[says])
    if undo is not None and says == "undone_again":
        if undo.state == StepState.PROCESSING:
            # The undo call under way began before this success was known: repeat it afterwards.
            step.early = {**body, "asks_again": True}
        else:
            _ask_again(locked, undo, actor)
    return True


def _what_follows(step: StepRow, undo: StepRow | None) -> str:
    """Return the sentence of the alert; empty: the undo is yet to be called, and needs nobody."""
    if step.is_by_hand or (undo is not None and undo.is_by_hand):
        # The service did it as well, or after a person gave it back: only a person can tell.
        return "beside"
    if undo is not None:
        is_begun = undo.state in _ENDED or undo.state == StepState.PROCESSING
        return "undone_again" if is_begun else ""
    return "beside" if step.state in _ENDED else "lasting"


def is_former(step: StepRow, key: str) -> bool:
    """Say whether a key was this step's before it began again or went to another agent."""
    stem, _, number = key.rpartition(":")
    is_same = step.idempotency_key.rpartition(":")[0] == stem
    return is_same and number.isdecimal() and int(number) < step.generation


def take_former(
    locked: LockedProcess, step: StepRow, key: str, body: dict[str, Any], actor: str
) -> None:
    """Record a success of a call under a former key: an operator has to look.

    The step's evidence is about its present key, and its undo would be, too.
    """
    locked.note(
        "late_success", actor, step=step, detail={"step": step.name, "key": key, "answer": body}
    )
    locked.alert("late_success", step, says=["former"])


def after_undo(locked: LockedProcess, forward: StepRow, undo: StepRow, actor: str) -> None:
    """Call an undo again that was at work when the success came."""
    early = forward.early or {}
    if early.get("asks_again"):
        forward.early = {name: value for name, value in early.items() if name != "asks_again"}
        if undo.is_by_hand:
            # Whoever undid it knew of the success.
            return
        evidence.ended_well(forward)
        _ask_again(locked, undo, actor)


def _undo_of(locked: LockedProcess, step: StepRow) -> StepRow | None:
    """Return the undo step of what a step did under its present key."""
    key = f"{step.idempotency_key}:undo"
    return next((undo for undo in locked.undo_steps if undo.idempotency_key == key), None)


def _ask_again(locked: LockedProcess, undo: StepRow, actor: str) -> None:
    process = locked.process
    if process.state in FINAL_PROCESS_STATES:
        locked.move_process(
            ProcessState.COMPENSATING,
            "compensating",
            actor,
            reason=f"{undo.name}: a success came after it",
            undo=[undo.name],
        )
    locked.touch(undo)
    undo.give_attempts_back()
    undo.result = None
    # The undo may already have had its effect: repeat it only while the service knows the key.
    evidence.may_have_run(undo, locked.now)
    undo.not_before = locked.now
    locked.move(undo, StepState.PENDING, "asked_again", actor)
