"""Carrying locked processes on: whatever changed them, what follows is decided and written here."""

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
    """Agents are needed whose rows were not locked, and no others may be locked from here on."""


def carry_on(
    processes: Sequence[LockedProcess],
    worker: str,
    now: datetime | None,
    answers: Mapping[str, Sequence[bool]] | None = None,
    *,
    claim: bool = True,
    asked: flow_control.FlowAnswers | None = None,
    here: Room | None = None,
) -> tuple[list[Claim], set[str]]:
    """Claim or queue what became ready, end what is settled, and write it all.

    Returns the claims, and the agents for which a step waits and which may have room for it: room
    came free, or a step was queued and is due.  The caller claims for those in a transaction of
    its own, so that a failure there takes nothing of this one along, and the rows that all
    schedulers share are let go in between.

    ``answers`` says of each agent's replies whether its service was reached.  Without
    ``claim``, for callers that send nothing, what became ready is queued.  ``asked`` is the lock
    of the flow rows where it was sent before; raises ``Unforeseen`` where it misses some.
    """
    if not processes:
        return [], set()
    ready = _ready(processes, worker)
    # Asked before more is queued: what became ready just now waits for its turn.
    freed, deferred, queued = _freed(processes), _deferred(processes), _queued(processes)
    answers = answers or {}
    agents = {step.agent for _, step in ready} | set(freed) | set(answers)
    locked_flow = flow_control.LockedFlow(agents if claim else set(), processes[0].now, asked=asked)
    if asked is not None and not agents <= locked_flow.agents:
        raise Unforeseen
    waited_for = locked_flow.waited_for()
    locked_flow.note_answers(answers)
    locked_flow.free(freed, deferred)
    taken: list[Claim] = []
    held: list[tuple[LockedProcess, Entry]] = []

    def decide() -> None:
        taken.extend(take_or_queue(ready, locked_flow, worker, waited_for, here))
        for locked in processes:
            apply_reply.finish(locked, worker)
            if (ending := hold_endings.hold(locked)) is not None:
                held.append((locked, ending))

    may_call = any(locked.process.has_on_end for locked in processes)
    load.write(processes, decide, is_last=not may_call)
    if held:
        end_processes.end(held)
    answered = {
        agent
        for agent, change in deferred.items()
        if change < 0 and locked_flow.bounds_answers(agent)
    }
    return taken, queued | ((set(freed) | answered) & waited_for)


def _ready(processes: Sequence[LockedProcess], worker: str) -> list[tuple[LockedProcess, StepRow]]:
    """Return the steps that may begin, once what was decided has made its undo steps."""
    load.insert_planned(processes)
    for locked in processes:
        restart.finish(locked, worker)
    unknown = conditions.judge(processes, worker)
    # A condition that failed may have a process compensate.
    load.insert_planned(processes)
    return [
        (locked, step)
        for locked in processes
        for step in apply_reply.ready_steps(locked, worker)
        if step.id not in unknown and not apply_reply.give_up_doubtful(locked, step, worker)
    ]


def _queued(processes: Sequence[LockedProcess]) -> set[str]:
    """Return the agents of steps that were moved to pending and are due at once."""
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
    """Count the claims that take up no room any more, by the agent that held them."""
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
    """Count by how many the answers outstanding grow or become fewer, by agent."""
    counts: Counter[str] = Counter()
    for locked in processes:
        for step in locked.steps:
            if (origin := locked.step_origins.get(step.id)) is not None:
                waits = step.state == StepState.PROCESSING and step.is_deferred
                counts[origin.agent] += waits - origin.is_deferred
    return {agent: change for agent, change in counts.items() if change}
