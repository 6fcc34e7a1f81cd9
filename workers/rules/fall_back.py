"""Fall back to the next agent: at once, or once the previous one's effect is undone.  Pure.

Two agents never do the same work: if the first call may have had its effect, it is undone first,
under the key it was made with, and the next agent is called once the undo has succeeded.
"""

from dataclasses import replace

from workers.rules import compensation, limit_keys
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import StepState


def at_once(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Give the step to the next agent now."""
    previous = take_next(locked, step)
    locked.move(
        step,
        StepState.PENDING,
        "fell_back",
        actor,
        public=True,
        from_agent=previous,
        to_agent=step.agent,
    )


def may_undo_first(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether the step alone can be undone while the process goes forward."""
    is_free = locked.is_forward and not compensation.is_past_no_return(locked)
    return step.has_undo and is_free


def undo_first(locked: LockedProcess, step: StepRow, actor: str, reason: str) -> None:
    """Undo only this step; ``restart`` then lets the next agent begin."""
    locked.touch(step)
    following, *rest = step.spec.fallbacks
    step.spec = replace(step.spec, fallbacks=({**following, "is_awaited": True}, *rest))
    undo = compensation.plan(locked, [step]).undo
    compensation.turn_back(
        locked, [step.name], undo, actor, reason=reason, to_agent=following["agent"]
    )


def is_awaited(step: StepRow) -> bool:
    """Say whether the next agent waits until the current one's effect is undone."""
    return bool(step.spec.fallbacks) and bool(step.spec.fallbacks[0].get("is_awaited"))


def take_next(locked: LockedProcess, step: StepRow) -> str:
    """Give a step to the next agent, under a new key; return the previous agent."""
    locked.touch(step)
    previous, following = step.agent, step.spec.fallbacks[0]
    step.agent, undo = following["agent"], step.spec.undo
    step.limit_key = limit_keys.of_agent(
        step.agent, following.get("per_key"), locked.process.limit_values
    )
    if undo is not None:
        # The new agent's own undo applies; null: its work cannot be undone.
        undo = {
            **undo,
            "agent": following.get("undo_agent"),
            "effect": following.get("undo_effect"),
            "key_retention_seconds": following.get("undo_key_retention_seconds"),
            "per_key": following.get("undo_per_key"),
        }
    step.spec = replace(
        step.spec,
        fallbacks=tuple(step.spec.fallbacks[1:]),
        undo=undo,
        effect=following.get("effect") or step.spec.effect,
        key_retention_seconds=following.get("key_retention_seconds"),
    )
    step.failure_threshold = following.get("failure_threshold") or step.failure_threshold
    # A new key for a new service: what the previous one says about the old key does not apply.
    step.begin_generation()
    step.give_attempts_back()
    step.not_before = locked.now
    return previous
