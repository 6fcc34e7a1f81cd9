"""Carry locked processes on: decide and write what follows from any change to them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from workers.rules import apply_reply, hold_endings, restart
from workers.rules.rows import Entry, StepRow
from workers.rules.transitions import LockedProcess
from workers.states import StepState
from workers.store.claims.claim_steps import Claim, Room, take_or_queue
from workers.store.flow import flow_control
from workers.store.locked import load
from workers.store.settle import conditions, end_processes


class Unforeseen(Exception):
    """Needs agents whose flow rows were not locked, when no more may be locked."""


def carry_on(
    processes: Sequence[LockedProcess],
    worker: str,
    now: datetime | None,
    answers: Mapping[str, Sequence[bool]] | None = None,
    *,
    claim: bool = True,
    flow_answers: flow_control.FlowAnswers | None = None,
    own_room: Room | None = None,
) -> tuple[list[Claim], set[str]]:
    """Claim or queue the steps that became ready, end settled processes, and write it all.

    Returns the claims, and the agents for which a step waits and which may have room for it: room
    came free, or a step was queued and is due.  The caller claims for those in another
    transaction, so that a failure there does not roll back this one, and the flow rows, which all
    schedulers share, are unlocked in between.

    ``answers`` has, by agent, whether each reply reached its service.  Without ``claim``, for
    callers that send no messages, ready steps are queued.  ``flow_answers`` is the lock of the flow
    rows, if it was sent before; raises ``Unforeseen`` if it misses some.
    """
    if not processes:
        return [], set()
    ready = _ready(processes, worker)
    # Count before more steps are queued: those that have just become ready wait for their turn.
    freed, deferred, queued = _freed(processes), _deferred(processes), _queued(processes)
    answers = answers or {}
    agents = {step.agent for _, step in ready} | set(freed) | set(answers)
    locked_flow = flow_control.LockedFlow(
        agents if claim else set(), processes[0].now, flow_answers=flow_answers
    )
    if flow_answers is not None and not agents <= locked_flow.agents:
        raise Unforeseen
    waited_for = locked_flow.waited_for()
    locked_flow.note_answers(answers)
    locked_flow.free(freed, deferred)
    claims: list[Claim] = []
    endings: list[tuple[LockedProcess, Entry]] = []

    def decide() -> None:
        claims.extend(take_or_queue(ready, locked_flow, worker, waited_for, own_room))
        for locked in processes:
            apply_reply.finish(locked, worker)
            if (ending := hold_endings.hold(locked)) is not None:
                endings.append((locked, ending))

    may_call = any(locked.process.has_on_end for locked in processes)
    load.write(processes, decide, is_last=not may_call)
    if endings:
        end_processes.end(endings)
    answering = {
        agent
        for agent, change in deferred.items()
        if change < 0 and locked_flow.bounds_answers(agent)
    }
    return claims, queued | ((set(freed) | answering) & waited_for)


def _ready(processes: Sequence[LockedProcess], worker: str) -> list[tuple[LockedProcess, StepRow]]:
    """Return the steps that may begin, after inserting the undo steps of earlier decisions."""
    load.insert_planned(processes)
    for locked in processes:
        restart.finish(locked, worker)
    unjudged = conditions.judge(processes, worker)
    # A failed condition may make a process compensate.
    load.insert_planned(processes)
    return [
        (locked, step)
        for locked in processes
        for step in apply_reply.ready_steps(locked, worker)
        if step.id not in unjudged and not apply_reply.give_up_doubtful(locked, step, worker)
    ]


def _queued(processes: Sequence[LockedProcess]) -> set[str]:
    """Return the agents of steps that were made pending and are due at once."""
    return {
        step.agent
        for locked in processes
        for step in locked.steps
        if step.id in locked.step_origins
        and step.state == StepState.PENDING
        and step.not_before is not None
        and step.not_before <= locked.now
    }


def _freed(processes: Sequence[LockedProcess]) -> dict[str, int]:
    """Count the claims that no longer take up room, by the agent that held them."""
    return dict(
        Counter(
            origin.agent
            for locked in processes
            for step in locked.steps
            if (origin := locked.step_origins.get(step.id)) is not None
            and origin.state == StepState.PROCESSING
            and not origin.is_deferred
            and (step.state != StepState.PROCESSING or step.is_deferred)
        )
    )


def _deferred(processes: Sequence[LockedProcess]) -> dict[str, int]:
    """Count by how many the outstanding answers grow or shrink, by agent."""
    counts: Counter[str] = Counter()
    for locked in processes:
        for step in locked.steps:
            if (origin := locked.step_origins.get(step.id)) is not None:
                waits = step.state == StepState.PROCESSING and step.is_deferred
                counts[origin.agent] += waits - origin.is_deferred
    return {agent: change for agent, change in counts.items() if change}
