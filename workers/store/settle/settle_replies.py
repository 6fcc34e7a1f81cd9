"""Settling: replies in, whatever follows from them out, in one transaction."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from workers.protocol.messages import Reply
from workers.rules import apply_reply
from workers.rules.rows import Entry
from workers.rules.transitions import LockedProcess
from workers.runtime.gc_control import collected_later
from workers.store import journal
from workers.store.claims.claim_steps import Claim, Room
from workers.store.db import dialect, prepared_plans
from workers.store.db.transactions import durable
from workers.store.flow import flow_control
from workers.store.locked import load
from workers.store.settle.carry_on import Unforeseen, carry_on


@dataclass(slots=True)
class SettleResult:
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
    here: Room | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> SettleResult:
    """Apply replies whose claims still hold, and claim what becomes ready.

    What there is room for ``here`` is started in the same write; see ``claim_steps.take``.

    A reply whose claim holds is accepted however late it is read.  A stale one changes nothing:
    the first of its claim is journalled, the rest are only counted.  ``filed`` replies were
    read from their rows: another scheduler may have settled one since, and what it holds
    just now is skipped.

    A lone reply comes at idle: where the agents that it leads to can be foreseen, it waits for
    the database once less.  With many, the rows that all schedulers share would be held longer.
    ``meanwhile`` may be called while the database works; see ``transactions.durable``.
    """
    if len(replies) == 1 and not filed:
        with suppress(Unforeseen):
            return _settle(replies, worker, now, foresees=True, here=here, meanwhile=meanwhile)
    return _settle(replies, worker, now, filed=filed, here=here, meanwhile=meanwhile)


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
    here: Room | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> SettleResult:
    """As ``settle``; with ``foresees`` it raises ``Unforeseen``, and nothing is done."""
    ids = [reply.step_id for reply in replies]
    asked: flow_control.FlowAnswers | None = None

    def foresee() -> None:
        nonlocal asked
        asked = flow_control.foresee(ids, now)

    with durable("settle_replies.settle", meanwhile=meanwhile):
        along = foresee if foresees else None
        processes = load.lock_of(ids, now, skip_locked=filed, send_along=along)
        owners = {step.id: (locked, step) for locked in processes for step in locked.steps}
        settled = SettleResult()
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
        settled.claims, settled.waited_for = carry_on(
            processes, worker, now, answers, asked=asked, here=here
        )
        settled.has_news = any(locked.has_news for locked in processes)
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
) -> SettleResult:
    """Carry processes on from wherever their rows say they are.

    ``decide`` runs first on each, under its lock.  Processes that another session holds are
    left to it.
    """
    with durable("settle_replies.advance"):
        processes = load.lock(process_ids, now, skip_locked=True)
        for locked in processes:
            if decide is not None:
                decide(locked)
        claims, waited_for = carry_on(processes, worker, now)
    return SettleResult(claims, waited_for, has_news=any(locked.has_news for locked in processes))
