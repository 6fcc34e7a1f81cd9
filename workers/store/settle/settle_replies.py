"""Settle replies: apply them and carry their processes on, in one transaction."""

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
    """The outcome of a batch: claims to send to their agents, and counts."""

    claims: list[Claim] = field(default_factory=list)
    #: Agents for which a step is due and which may have room: the caller claims for them.
    waited_for: set[str] = field(default_factory=set)
    applied: int = 0
    stale: int = 0
    #: Whether there is news for a submitter.
    has_news: bool = False


def settle(
    replies: Sequence[Reply],
    worker: str,
    now: datetime | None = None,
    *,
    filed: bool = False,
    own_room: Room | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> SettleResult:
    """Apply replies whose claims still hold, and claim the steps that become ready.

    Starts in the same write what there is ``own_room`` for; see ``claim_steps.take``.

    A reply whose claim holds is accepted however late it is read.  A stale one changes nothing:
    the first of its claim is journalled, the rest are only counted.  ``filed`` replies were
    read from their rows: another scheduler may have settled one since, so processes that
    another session holds are skipped.

    A lone reply means an idle system: if the agents of the next steps can be predicted, it saves
    one round trip.  With many replies, that would lock the shared flow rows for longer.
    ``meanwhile`` may be called while the database works; see ``transactions.durable``.
    """
    if len(replies) == 1 and not filed:
        with suppress(Unforeseen):
            return _settle(
                replies, worker, now, foresees=True, own_room=own_room, meanwhile=meanwhile
            )
    return _settle(replies, worker, now, filed=filed, own_room=own_room, meanwhile=meanwhile)


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
    own_room: Room | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> SettleResult:
    """Settle as ``settle`` does; with ``foresees``, may raise ``Unforeseen``, with nothing done."""
    ids = [reply.step_id for reply in replies]
    flow_answers: flow_control.FlowAnswers | None = None

    def foresee() -> None:
        nonlocal flow_answers
        flow_answers = flow_control.foresee(ids, now)

    with durable("settle_replies.settle", meanwhile=meanwhile):
        along = foresee if foresees else None
        processes = load.lock_of(ids, now, skip_locked=filed, send_along=along)
        owners = {step.id: (locked, step) for locked in processes for step in locked.steps}
        result = SettleResult()
        stale: list[Entry] = []
        answers: dict[str, list[bool]] = {}
        for reply in replies:
            if reply.step_id not in owners:
                result.stale += not filed
                continue
            locked, step = owners[reply.step_id]
            agent = step.agent
            if apply_reply.apply_reply(locked, reply, worker):
                result.applied += 1
                answers.setdefault(agent, []).append(reply.kind != "unavailable")
            elif not filed:
                result.stale += 1
                stale.append(_stale(locked, reply, worker))
        result.claims, result.waited_for = carry_on(
            processes, worker, now, answers, flow_answers=flow_answers, own_room=own_room
        )
        result.has_news = any(locked.has_news for locked in processes)
        if stale:
            journal.write_once(stale, dialect.read_clock(now))
    return result


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
    """Carry processes on from the state in their rows.

    ``decide`` runs first on each, under its lock.  Skips processes that another session holds.
    """
    with durable("settle_replies.advance"):
        processes = load.lock(process_ids, now, skip_locked=True)
        for locked in processes:
            if decide is not None:
                decide(locked)
        claims, waited_for = carry_on(processes, worker, now)
    return SettleResult(claims, waited_for, has_news=any(locked.has_news for locked in processes))
