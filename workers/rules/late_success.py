"""A success that comes after its effect was undone: the last sign that money moved.  Pure.

The undo may have reached the service before the call took effect.  So the undo is called once
more, under the same key, and an alert asks an operator to look.  A process that has ended is
undone once more.
"""

from typing import Any

from workers.definitions.effects import Effect
from workers.rules import evidence
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES, ProcessState, StepState

_ENDED = frozenset({StepState.PROCESSED, StepState.SKIPPED})


def is_late(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether a success is news about a step that was called and then given up."""
    if step.state not in (StepState.COMPENSATED, StepState.CANCELLED):
        return False
    was_called = step.attempt > 0 and step.effect != Effect.NONE
    had_result = step.result is not None or step.id in locked.results_as_read
    return was_called and not had_result and locked.is_given_up(step)


def take(locked: LockedProcess, step: StepRow, body: dict[str, Any], actor: str) -> bool:
    """Record a late success in the journal, and have it undone.  False: it was recorded before."""
    if step.early is not None:
        return False
    locked.touch(step)
    step.early = body
    undo = _undo_of(locked, step)
    if undo is not None:
        # Without an undo step, no call was made or nothing can undo it: a person has to look.
        evidence.ended_well(step)
    detail = {"step": step.name, "answer": body}
    locked.note("late_success", actor, step=step, attempt=step.attempt, detail=detail)
    if undo is None or undo.state in _ENDED or undo.is_at_work:
        locked.alert("late_success", step, says=["undone_again" if undo else "lasting"])
    if undo is not None and undo.state in _ENDED:
        _ask_again(locked, undo, actor)
    elif undo is not None and undo.is_at_work:
        # The undo call under way began before this success was known: repeat it afterwards.
        step.early = {**body, "asks_again": True}
    return True


def after_undo(locked: LockedProcess, forward: StepRow, undo: StepRow, actor: str) -> None:
    """Call an undo again that was at work when the success came."""
    early = forward.early or {}
    if early.get("asks_again"):
        forward.early = {name: value for name, value in early.items() if name != "asks_again"}
        evidence.ended_well(forward)
        _ask_again(locked, undo, actor)


def _undo_of(locked: LockedProcess, step: StepRow) -> StepRow | None:
    """Return the newest undo step of a step."""
    undo_steps = [undo for undo in locked.undo_steps if undo.undoes_id == step.id]
    return max(undo_steps, key=lambda undo: undo.id, default=None)


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
