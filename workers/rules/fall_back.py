"""Another agent does what the one before did not: at once, or once that is undone.  Pure.

Two agents never do the same: where the first may have had its effect, it is undone first, under
the key it was asked with, and the next one is asked once that has succeeded.
"""

from workers.rules import compensation
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import StepState


def at_once(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Ask the next agent."""
    before = take_next(locked, step)
    locked.move(
        step,
        StepState.PENDING,
        "fell_back",
        actor,
        public=True,
        from_agent=before,
        to_agent=step.agent,
    )


def may_undo_first(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether the step can be undone by itself while the process goes forward."""
    is_free = locked.is_forward and not compensation.is_past_no_return(locked)
    return step.has_undo and is_free


def undo_first(locked: LockedProcess, step: StepRow, actor: str, reason: str) -> None:
    """Undo the step alone; ``restart`` lets the next agent begin after that."""
    locked.touch(step)
    following, *others = step.fallbacks
    step.fallbacks = [{**following, "is_awaited": True}, *others]
    undo = compensation.plan(locked, [step]).undo
    compensation.turn_back(
        locked, [step.name], undo, actor, reason=reason, to_agent=following["agent"]
    )


def is_awaited(step: StepRow) -> bool:
    """Say whether the next agent waits until what the present one may have done is undone."""
    return bool(step.fallbacks) and bool(step.fallbacks[0].get("is_awaited"))


def take_next(locked: LockedProcess, step: StepRow) -> str:
    """Make a step the next agent's, under a new key; return whose it was."""
    locked.touch(step)
    before, following = step.agent, step.fallbacks[0]
    step.agent, step.fallbacks = following["agent"], step.fallbacks[1:]
    if step.undo is not None:
        # Undone by whoever can undo what the new agent does, or by nobody (null).
        step.undo = {
            **step.undo,
            "agent": following.get("undo_agent"),
            "effect": following.get("undo_effect"),
            "key_retention_seconds": following.get("undo_key_retention_seconds"),
        }
    step.failure_threshold = following.get("failure_threshold") or step.failure_threshold
    step.effect = following.get("effect") or step.effect
    step.key_retention_seconds = following.get("key_retention_seconds")
    # Another service, another key: what the one before says of its own is none of its business.
    step.begin_generation()
    step.give_attempts_back()
    step.not_before = locked.now
    return before
