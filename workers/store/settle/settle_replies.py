"""Settle replies: apply them and carry their processes on, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from workers.protocol.messages import Reply
from workers.rules import apply_reply, late_success
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
    """The outcome of a batch: claims that were started for the caller, and counts."""

    claims: list[Claim] = field(default_factory=list)
    #: Agents for which a step is due and which may have room: take those, or wake who may.
    waited_for: set[str] = field(default_factory=set)
    applied: int = 0
    stale: int = 0
    #: Whether there is news for a submitter.
    has_news: bool = False
    #: Whether another session held a process: a Scheduler has to look again.
    has_skipped: bool = False


def apply(
    replies: Sequence[Reply],
    worker: str,
    now: datetime | None = None,
    *,
    own_room: Room | None = None,
) -> SettleResult:
    """Apply replies whose claims still hold, and carry their processes on.

    Claims and starts in the same write the steps that become ready and that there is ``own_room``
    for; see ``claim_steps.take``.

    A reply whose claim holds is accepted however late it is read.  A stale one moves no step: the
    first of its claim is journalled, the rest are only counted.  A success that contradicts how
    its step ended is told; see ``late_success``.  Filed replies are settled apart from others:
    another scheduler may have settled one since, so processes that another session holds are
    skipped.

    A lone reply means an idle system: if the agents of the next steps can be predicted, it saves
    one round trip.  With many replies, that would lock the shared flow rows for longer.
    """
    if own_room is not None and len(replies) == 1 and not replies[0].is_filed:
        with suppress(Unforeseen):
            return _apply(replies, worker, now, own_room, foresees=True)
    return _apply(replies, worker, now, own_room)


@collected_later
@load.again_when_lost
@prepared_plans.kept()
def _apply(
    replies: Sequence[Reply],
    worker: str,
    now: datetime | None,
    own_room: Room | None,
    *,
    foresees: bool = False,
) -> SettleResult:
    """Apply as ``apply`` does; with ``foresees``, may raise ``Unforeseen``, with nothing done."""
    is_filed = all(reply.is_filed for reply in replies)
    ids = [reply.step_id for reply in replies]
    flow_answers: flow_control.FlowAnswers | None = None

    def foresee() -> None:
        nonlocal flow_answers
        flow_answers = flow_control.foresee(ids, now)

    if own_room is not None:
        # The transaction may be repeated; what it took the first time was not written.
        own_room.renew()
    with durable("settle_replies.apply"):
        along = foresee if foresees else None
        processes = load.lock_of(ids, now, skip_locked=is_filed, send_along=along)
        owners = {step.id: (locked, step) for locked in processes for step in locked.steps}
        result = SettleResult()
        stale: list[Entry] = []
        answers: dict[str, list[bool]] = {}
        for reply in replies:
            if reply.step_id not in owners:
                result.stale += not is_filed
                result.has_skipped |= is_filed
                continue
            locked, step = owners[reply.step_id]
            agent = step.agent
            is_refused = reply.fault is not None and reply.fault.is_of_our_side
            others_pass = is_refused and _has_passed(agent, answers)
            if apply_reply.apply_reply(locked, reply, worker, others_pass=others_pass):
                result.applied += 1
                if not reply.is_uncalled:
                    answers.setdefault(agent, []).append(reply.kind != "unavailable")
            elif not is_filed:
                result.stale += 1
                late_success.of_reply(locked, step, reply, worker)
                stale.append(_stale(locked, reply, worker))
        result.claims, result.waited_for = carry_on(
            processes, worker, now, answers, flow_answers=flow_answers, own_room=own_room
        )
        result.has_news = any(locked.has_news for locked in processes)
        if stale:
            journal.write_once(stale, dialect.read_clock(now))
    return result


def _has_passed(agent: str, answers: Mapping[str, Sequence[bool]]) -> bool:
    """Say whether the last answer to the agent, of this batch or before, reached its service."""
    batch = answers.get(agent)
    return batch[-1] if batch else flow_control.has_passed(agent)


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
    return SettleResult(
        claims,
        waited_for,
        applied=len(processes),
        has_news=any(locked.has_news for locked in processes),
        has_skipped=len(processes) < len(set(process_ids)),
    )
