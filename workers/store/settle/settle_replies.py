"""Settling: replies in, whatever follows from them out, in one transaction."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from workers.protocol.messages import Reply
from workers.rules import apply_reply, hold_endings, restart
from workers.rules.rows import Entry, StepRow
from workers.rules.transitions import LockedProcess
from workers.runtime.gc_control import collected_later
from workers.states import StepState
from workers.store import journal
from workers.store.claims.claim_steps import Claim, take_or_queue
from workers.store.db import dialect, prepared_plans
from workers.store.db.transactions import durable
from workers.store.flow import flow_control
from workers.store.locked import load
from workers.store.settle import conditions, end_processes


class _Unforeseen(Exception):
    """Agents are needed whose rows were not locked, and no others may be locked from here on."""


@dataclass(slots=True)
class Settled:
    """What a batch came to: steps to be sent to their agents, and what was counted."""

    claims: list[Claim] = field(default_factory=list)
    #: Agents for which a step is due and which may have room: to be claimed for by the caller.
    waited_for: set[str] = field(default_factory=set)
    applied: int = 0
    stale: int = 0
    #: Whether a submitter is to be told of it.
    has_news: bool = False


def settle(
    replies: Sequence[Reply],
    worker: str,
    now: datetime | None = None,
    *,
    filed: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> Settled:
    """Apply replies whose claims still hold, and claim what becomes ready.

    A reply whose claim holds is accepted however late it is read.  A stale one changes nothing:
    the first of its claim is journalled, the rest are only counted.  ``filed`` replies were
    read from their rows: another scheduler may have settled one since, and what it holds
    just now is skipped.

    A lone reply comes at idle: where the agents that it leads to can be foreseen, it waits for
    the database once less.  With many, the rows that all schedulers share would be held longer.
    ``meanwhile`` may be called while the database works; see ``transactions.durable``.
    """
    if len(replies) == 1 and not filed:
        with suppress(_Unforeseen):
            return _settle(replies, worker, now, foresees=True, meanwhile=meanwhile)
    return _settle(replies, worker, now, filed=filed, meanwhile=meanwhile)


@collected_later
@load.again_when_lost
@prepared_plans.kept()
def _settle(
    replies: Sequence[Reply],
    worker: str,
    now: datetime | None,
    *,
    filed: bool = False,
    foresees: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> Settled:
    """As ``settle``; with ``foresees`` it raises ``_Unforeseen``, and nothing is done."""
    ids = [reply.step_id for reply in replies]
    asked: flow_control.Asked | None = None

    def foresee() -> None:
        nonlocal asked
        asked = flow_control.foresee(ids, now)

    with durable("settle_replies.settle", meanwhile=meanwhile):
        along = foresee if foresees else None
        lockeds = load.lock_of(ids, now, skip_locked=filed, along=along)
        owners = {step.id: (locked, step) for locked in lockeds for step in locked.steps}
        settled = Settled()
        stale: list[Entry] = []
        answers: dict[str, list[bool]] = {}
        for reply in replies:
            if reply.step_id not in owners:
                settled.stale += not filed
                continue
            locked, step = owners[reply.step_id]
            agent = step.agent
            if apply_reply.apply_reply(locked, reply, worker):
                settled.applied += 1
                was_reached = reply.kind != "unavailable"
                answers.setdefault(agent, []).append(was_reached)
            elif not filed:
                settled.stale += 1
                stale.append(_stale(locked, reply, worker))
        settled.claims, settled.waited_for = go_on(lockeds, worker, now, answers, asked=asked)
        settled.has_news = any(locked.has_news for locked in lockeds)
        if stale:
            journal.write_once(stale, dialect.read_clock(now))
    return settled


def _stale(locked: LockedProcess, reply: Reply, worker: str) -> Entry:
    return Entry(
        process_id=locked.process.id,
        step_id=reply.step_id,
        event="stale_reply",
        actor=worker,
        attempt=reply.attempt,
        detail={"claim": reply.claim_id.hex, "kind": reply.kind},
    )


@collected_later
@load.again_when_lost
@prepared_plans.kept()
def advance(
    process_ids: Sequence[int],
    worker: str,
    now: datetime | None = None,
    decide: Callable[[LockedProcess], None] | None = None,
) -> Settled:
    """Carry processes on from wherever their rows say they are.

    ``decide`` runs first on each, under its lock.  Processes that another session holds are
    left to it.
    """
    with durable("settle_replies.advance"):
        lockeds = load.lock(process_ids, now, skip_locked=True)
        for locked in lockeds:
            if decide is not None:
                decide(locked)
        claims, waited_for = go_on(lockeds, worker, now)
    return Settled(claims, waited_for, has_news=any(locked.has_news for locked in lockeds))


def go_on(
    lockeds: Sequence[LockedProcess],
    worker: str,
    now: datetime | None,
    answers: Mapping[str, Sequence[bool]] | None = None,
    *,
    claim: bool = True,
    asked: flow_control.Asked | None = None,
) -> tuple[list[Claim], set[str]]:
    """Claim or queue what became ready, end what is settled, and write it all.

    Returns the claims, and the agents for which a step waits and which may have room for it: room
    came free, or a step was queued and is due.  The caller claims for those in a transaction of
    its own, so that a failure there takes nothing of this one along, and the rows that all
    schedulers share are let go in between.

    ``answers`` says of each agent's replies whether its service was reached.  Without
    ``claim``, for callers that send nothing, what became ready is queued.  ``asked`` is the lock
    of the flow rows where it was sent before; raises ``_Unforeseen`` where it misses some.
    """
    if not lockeds:
        return [], set()
    ready = _ready(lockeds, worker)
    # Asked before more is queued: what became ready just now waits for its turn.
    freed, queued = _freed(lockeds), _queued(lockeds)
    answers = answers or {}
    agents = {step.agent for _, step in ready} | set(freed) | set(answers)
    locked_flow = flow_control.LockedFlow(agents if claim else set(), lockeds[0].now, asked=asked)
    if asked is not None and not agents <= locked_flow.agents:
        raise _Unforeseen
    waited_for = locked_flow.waited_for()
    locked_flow.note_answers(answers)
    locked_flow.free(freed)
    taken: list[Claim] = []
    held: list[tuple[LockedProcess, Entry]] = []

    def decide() -> None:
        taken.extend(take_or_queue(ready, locked_flow, worker, waited_for))
        for locked in lockeds:
            apply_reply.finish(locked, worker)
            if (ending := hold_endings.hold(locked)) is not None:
                held.append((locked, ending))

    may_call = any(locked.process.has_on_end for locked in lockeds)
    load.write(lockeds, decide, is_last=not may_call)
    if held:
        end_processes.end(held)
    return taken, queued | (set(freed) & waited_for)


def _ready(lockeds: Sequence[LockedProcess], worker: str) -> list[tuple[LockedProcess, StepRow]]:
    """Return the steps that may begin, once what was decided has made its undo steps."""
    load.make_planned(lockeds)
    for locked in lockeds:
        restart.finish(locked, worker)
    unknown = conditions.judge(lockeds, worker)
    # A condition that failed may have a process compensate.
    load.make_planned(lockeds)
    return [
        (locked, step)
        for locked in lockeds
        for step in apply_reply.ready_steps(locked, worker)
        if step.id not in unknown and not apply_reply.give_up_doubtful(locked, step, worker)
    ]


def _queued(lockeds: Sequence[LockedProcess]) -> set[str]:
    """Return the agents of steps that were moved to pending and are due at once."""
    return {
        step.agent
        for locked in lockeds
        for step in locked.steps
        if step.id in locked.step_origins
        and step.state == StepState.PENDING
        and step.not_before is not None
        and step.not_before <= locked.now
    }


def _freed(lockeds: Sequence[LockedProcess]) -> dict[str, int]:
    """Count the claims that take up no room any more, by the agent that held them."""
    return dict(
        Counter(
            origin.agent
            for locked in lockeds
            for step in locked.steps
            if (origin := locked.step_origins.get(step.id)) is not None
            and origin.state == StepState.PROCESSING
            and not origin.is_deferred
            and (step.state != StepState.PROCESSING or step.is_deferred)
        )
    )
