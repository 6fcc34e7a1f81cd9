"""Carry locked processes on: decide and write what follows from any change to them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from workers.definitions.children import CHILDREN
from workers.rules import apply_reply, hold_endings, restart
from workers.rules.rows import Entry, StepRow
from workers.rules.transitions import LockedProcess
from workers.states import StepState
from workers.store.claims.claim_steps import Claim, Room, room_of_keys, take_or_queue
from workers.store.flow import flow_control
from workers.store.locked import child_rows, load
from workers.store.settle import conditions, end_processes


class Unforeseen(Exception):
    """Needs agents whose flow rows were not locked, or must call ``on_end``, with others locked."""


def carry_on(
    processes: Sequence[LockedProcess],
    worker: str,
    now: datetime | None,
    answers: Mapping[str, Sequence[bool]] | None = None,
    *,
    flow_answers: flow_control.FlowAnswers | None = None,
    own_room: Room | None = None,
) -> tuple[list[Claim], set[str]]:
    """Start or queue the steps that became ready, end settled processes, and write it all.

    Starts what there is ``own_room`` for, in the process that calls; queues the others.  Returns
    the claims, and the agents for which a step waits and which may have room for it: room came
    free, or a step was queued and is due.  The caller takes those in another transaction, or wakes
    who may, so that a failure there does not roll back this one, and the flow rows, which all
    processes share, are unlocked in between.

    What ends is ended first: an ``on_end`` is the application's code, and must not hold flow rows.

    ``answers`` has, by agent, whether each reply reached its service.  ``flow_answers`` is the lock
    of the flow rows, if it was sent before; raises ``Unforeseen`` if it misses some, if a process
    ends, or if child groups have to be told.
    """
    if not processes:
        return [], set()
    ready = _ready(processes, worker)
    freed, deferred = _freed(processes), _deferred(processes)
    # Writing counts the steps as read: ask before it and after it.
    queued = _queued(processes)
    answers = answers or {}
    # Un-blocking locks these rows, too.
    agents = set(answers) | {agent for p in processes for agent in p.freed_keys.values() if agent}
    if own_room is not None:
        agents |= {step.agent for _, step in ready} | set(freed)
    if news := child_rows.GroupNews(processes):
        if flow_answers is not None:
            raise Unforeseen
        news.write()
    written = _end(processes, ready, worker, may_wait=flow_answers is None)
    locked_flow = flow_control.LockedFlow(agents, processes[0].now, flow_answers=flow_answers)
    if flow_answers is not None and not agents <= locked_flow.agents:
        raise Unforeseen
    waited_for = locked_flow.waited_for()
    locked_flow.note_answers(answers)
    locked_flow.free(freed, deferred)
    # Counted after the lock; what this transaction frees is given to whoever waits already.
    keys = room_of_keys(ready, locked_flow.at) if own_room is not None else None
    claims: list[Claim] = []
    others = [locked for locked in processes if locked.process.id not in written.ended]

    def decide() -> None:
        claims.extend(take_or_queue(ready, locked_flow, worker, waited_for, own_room, keys=keys))
        for locked in others:
            apply_reply.finish(locked, worker)

    load.write(others, decide, is_last=True)
    for locked in others:
        locked.entries = [*written.entries.get(locked.process.id, []), *locked.entries]
    queued |= _queued(processes)
    if keys is not None:
        # Somebody has to look again when the next token is there.
        queued |= {step.agent for _, step in ready if step.limit_key in keys.spent}
    if any(map(child_rows.has_ended, processes)):
        queued.add(CHILDREN)
    if own_room is None:
        # Whoever is woken finds out whether any step is due.
        return [], queued | set(freed) | _unblocked(processes)
    answering = {
        agent
        for agent, change in deferred.items()
        if change < 0 and locked_flow.bounds_answers(agent)
    }
    return claims, queued | ((set(freed) | answering) & waited_for) | _unblocked(processes)


@dataclass(frozen=True, slots=True)
class _Written:
    """What is written before flow rows are locked, because a process ends."""

    #: Processes that are not written again.
    ended: Collection[int] = ()
    #: Journal entries of the others, by process.
    entries: Mapping[int, list[Entry]] = field(default_factory=dict)


def _end(
    processes: Sequence[LockedProcess],
    ready: Sequence[tuple[LockedProcess, StepRow]],
    worker: str,
    *,
    may_wait: bool,
) -> _Written:
    """End the processes that have an ``on_end`` and nothing left to do.

    Raises ``Unforeseen`` if there is one and flow rows are locked already.
    """
    busy = {locked.process.id for locked, _ in ready}
    endings: list[tuple[LockedProcess, Entry]] = []
    for locked in processes:
        if locked.process.has_on_end and locked.process.id not in busy:
            apply_reply.finish(locked, worker)
            if (ending := hold_endings.hold(locked)) is not None:
                endings.append((locked, ending))
    if not endings:
        return _Written()
    if not may_wait:
        raise Unforeseen
    # All steps, in their order.
    load.write(processes)
    ended = {locked.process.id for locked, _ in endings}
    entries = {
        locked.process.id: load.count_as_written(locked)
        for locked in processes
        if locked.process.id not in ended
    }
    end_processes.end(endings)
    return _Written(ended, entries)


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


def _unblocked(processes: Sequence[LockedProcess]) -> set[str]:
    """Return the agents of which a blocked step may get its turn by the end of the transaction."""
    agents = {agent for locked in processes for agent in locked.freed_keys.values() if agent}
    for locked in processes:
        if locked.process.exclusive in locked.freed_keys:
            # The next process mostly begins as this one did.
            agents |= {step.agent for step in locked.forward_steps if not step.spec.after}
    return agents


def _deferred(processes: Sequence[LockedProcess]) -> dict[str, int]:
    """Count by how many the outstanding answers grow or shrink, by agent."""
    counts: Counter[str] = Counter()
    for locked in processes:
        for step in locked.steps:
            if (origin := locked.step_origins.get(step.id)) is not None:
                waits = step.state == StepState.PROCESSING and step.is_deferred
                counts[origin.agent] += waits - origin.is_deferred
    return {agent: change for agent, change in counts.items() if change}
