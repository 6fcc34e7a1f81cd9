"""The Scheduler: claims pending steps, sends requests to agents, applies replies, carries
out policies, and decides what comes next.

Invariants: it sends only what is committed; it holds no lock and no transaction while it
sends; it keeps nothing between calls, so any number of schedulers may run, and a restarted
one goes on from the rows.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from time import monotonic

from django.db import InterfaceError, OperationalError

from workers.conf import sas
from workers.definitions import registry
from workers.exceptions import UnknownAgent, UnknownWorkflow
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.rules import apply_reply
from workers.runtime.worker_identity import me
from workers.scheduler import background_sender, bundles
from workers.scheduler.reply_batches import Arrivals
from workers.store import leases
from workers.store.alerts import raise_alert
from workers.store.claims import claim_steps, find_work, request_data, unstarted
from workers.store.flow import flow_control
from workers.store.operate import jobs
from workers.store.settle import filed_replies, settle_replies
from workers.wire import dispatch

log = logging.getLogger(__name__)

#: Time before claims that this code cannot serve are tried again.
UNKNOWN_SECONDS = 30
#: Time before claims of an agent whose queue refused them are tried again.
REFUSED_SECONDS = 5
#: Code of the fault that stands in for a reply which cannot be applied.
UNUSABLE = "reply_unusable"
#: Batches that one look claims at most; the next nudge or poll goes on from there.
MOST_BATCHES = 50


class _Pause:
    """Time in which nothing is claimed because the broker refuses: 1 s, doubling to 30 s."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._until = 0.0

    def is_on(self) -> bool:
        return monotonic() < self._until

    def lengthen(self) -> None:
        self._seconds = min(30.0, max(1.0, self._seconds * 2))
        self._until = monotonic() + self._seconds

    def end(self) -> None:
        self._seconds = self._until = 0.0


_pause = _Pause()


def settle_all(arrivals: Arrivals) -> None:
    """As ``settle``, for one batch after another.

    Most of the time of a settlement is a wait for the database.  Meanwhile the next batch is made
    up, and leaves what the one before made ready.
    """
    convoy = background_sender.Convoy(_departed)

    def forward(taken: Sequence[claim_steps.Claim]) -> None:
        if not taken:
            return
        if arrivals.is_over():
            convoy.wait()
            send(taken)
        else:
            convoy.send(_loader(taken))

    try:
        while batch := arrivals.next():
            settle(batch, forward=forward, meanwhile=arrivals.look_ahead)
    finally:
        convoy.wait()


def settle(
    batch: Sequence[Reply],
    now: datetime | None = None,
    *,
    filed: bool = False,
    forward: Callable[[Sequence[claim_steps.Claim]], object] | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> settle_replies.Settled:
    """Apply replies and send what they made ready.

    A reply that cannot be applied, whatever is wrong with it, counts as a failure of its own
    step and holds up no other.  Raises when the database is away.  ``forward`` sees to the
    sending instead of ``send``; ``meanwhile`` may be called while the database is waited for.
    """
    settled = _apply(batch, now, filed=filed, meanwhile=meanwhile)
    (forward or send)(_all_claims(settled, now, meanwhile))
    return settled


def _all_claims(
    settled: settle_replies.Settled,
    now: datetime | None,
    meanwhile: Callable[[], object] | None = None,
) -> Sequence[claim_steps.Claim]:
    """Return the claims that a settlement made, and those of steps that waited for its room.

    What fails of the latter is left to the next look: the replies are settled, and must not come
    again for it.
    """
    if settled.has_news:
        dispatch.report_later()
    if not settled.waited_for:
        return settled.claims
    claims, has_news = [*settled.claims], False
    try:
        # Fill all the room: a later settlement that finds some leaves new steps to wake-ups.
        for taken in _batches(settled.waited_for, me("scheduler"), now, meanwhile):
            claims += taken
            has_news = has_news or taken.has_news
    except Exception:
        log.exception("waiting_claims_failed", extra={"agents": sorted(settled.waited_for)})
    if has_news:
        dispatch.report_later()
    return claims


def _apply(
    batch: Sequence[Reply],
    now: datetime | None,
    *,
    filed: bool,
    meanwhile: Callable[[], object] | None,
) -> settle_replies.Settled:
    try:
        return settle_replies.settle(batch, me("scheduler"), now, filed=filed, meanwhile=meanwhile)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("batch_unusable", extra={"replies": len(batch)})
        if len(batch) > 1:
            return _add([settle([reply], now, filed=filed) for reply in batch])
        if batch[0].fault is not None and batch[0].fault.code == UNUSABLE:
            # Not even that can be applied: its claim expires, as if nothing had come.
            return settle_replies.Settled()
        return _add([settle([_unusable(batch[0])], now)])


def _unusable(reply: Reply) -> Reply:
    # Transient: the call may well have had its effect, and the step must stay in doubt.
    fault = FaultRecord(
        "transient",
        UNUSABLE,
        "the agent's reply cannot be stored; its effect may have happened",
    )
    return Reply(reply.step_id, reply.claim_id, reply.attempt, fault=fault)


def _add(parts: Sequence[settle_replies.Settled]) -> settle_replies.Settled:
    """Return what was counted of parts whose claims have been sent already."""
    return settle_replies.Settled(
        applied=sum(part.applied for part in parts), stale=sum(part.stale for part in parts)
    )


def advance(now: datetime | None = None) -> int:
    """Carry on whatever the rows say can be carried on; return how many claims it sent.

    Filed replies, decisions that supervisors left, claims nobody started, due steps, and
    once per poll interval a portion of the open processes, should one stand still.
    """
    worker, agents = me("scheduler"), {agent.name for agent in registry.agents()}
    look, taken = _look_and_claim(agents, worker, now)
    sent = send(taken)
    more, has_news = _carry_on(look, taken, agents, worker, now)
    sent += more
    if look.has_untold or has_news:
        # Of what was done here, or an operator's doing, a sweep's, or a nudge that was lost.
        dispatch.report_later()
    return sent


def _look_and_claim(
    agents: set[str], worker: str, now: datetime | None
) -> tuple[find_work.Look, claim_steps.Taken]:
    """Claim due steps, and ask in the same round trip what else there is to do."""
    if _pause.is_on():
        return find_work.look(now), claim_steps.Taken()
    looks: list[Callable[[], find_work.Look]] = []
    taken = claim_steps.claim_due(
        agents, worker, now, along=lambda: looks.append(find_work.send_look(now))
    )
    # The last one, where the claim was made again.
    return looks[-1](), taken


def _carry_on(
    look: find_work.Look,
    taken: claim_steps.Taken,
    agents: set[str],
    worker: str,
    now: datetime | None,
) -> tuple[int, bool]:
    """Do the rest of what a look has found, ``taken`` being sent.

    Return how many claims it sent, and whether a submitter may have to be told of something.
    """
    limit = int(sas.settle_batch)
    sent, has_news = 0, taken.has_news
    while look.has_filed and (filed := filed_replies.filed(limit)):
        if not settle(filed, now, filed=True).applied:
            break
    # What was filed may have led to a decision that is left to be made.
    if (look.has_flagged or look.has_filed) and (flagged := find_work.flagged(limit)):
        advanced = settle_replies.advance(
            flagged, worker, now, lambda locked: apply_reply.carry_out_policies(locked, worker)
        )
        sent += send(_all_claims(advanced, now))
    if taken.is_to_go_on or look.has_filed or look.has_flagged:
        claimed = _claim(agents, worker, now)
        sent, has_news = sent + claimed[0], has_news or claimed[1]
    # What is rarely found comes last: a nudge tells of none of it.
    if look.is_poll_due and leases.is_due(leases.POLL, sas.poll_seconds, now):
        still = find_work.standing_still(int(sas.claim_batch))
        sent += send(_all_claims(settle_replies.advance(still, worker, now), now))
        if jobs.needs_runner(sas.poll_seconds, now):
            dispatch.run_jobs()
    if _pause.is_on():
        return sent, has_news
    if look.has_lost:
        sent += send(unstarted.lost(worker, now))
    wait = flow_control.seconds_to_next(now) if look.has_rates else None
    if wait is not None and wait < sas.poll_seconds:
        dispatch.nudge_after(wait)
    return sent, has_news


def _claim(agents: set[str], worker: str, now: datetime | None) -> tuple[int, bool]:
    """As ``_carry_on``, of the due steps."""
    sent, has_news = 0, False
    for taken in _batches(agents, worker, now):
        sent += send(taken)
        has_news = has_news or taken.has_news
    return sent, has_news


def _batches(
    agents: set[str],
    worker: str,
    now: datetime | None,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[claim_steps.Taken]:
    """Claim due steps, batch after batch, while there may be more and the broker takes them."""
    for _ in range(MOST_BATCHES):
        if _pause.is_on():
            return
        taken = claim_steps.claim_due(agents, worker, now, meanwhile=meanwhile)
        yield taken
        if not taken.is_to_go_on:
            return


def send(
    taken: Sequence[claim_steps.Claim], keep: Callable[[bundles.Load], object] | None = None
) -> int:
    """Send claims to their agents in bundles; return how many the broker took.

    ``keep`` may take out of the load what need not be sent.

    Claims that the broker refused are handed back for a while, without a failure; when it
    took nothing at all, claiming pauses.  Claims that this code cannot serve are handed
    back for newer code to take.
    """
    load = _loader(taken)()
    if keep is not None:
        keep(load)
    return _departed(background_sender.depart(load))


def _loader(taken: Sequence[claim_steps.Claim]) -> Callable[[], bundles.Load]:
    """Return what loads claims into bundles, and asks the database nothing."""
    return partial(bundles.load, taken, request_data.material(taken))


def _departed(departed: background_sender.Departed) -> int:
    if departed.sent:
        _pause.end()
    elif departed.refused:
        _pause.lengthen()
    if departed.refused:
        unstarted.hand_back(
            departed.refused,
            me("scheduler"),
            "the broker did not take the request",
            delay_seconds=REFUSED_SECONDS if departed.sent else 0,
        )
    if departed.unbuilt:
        _give_up(departed.unbuilt)
    return departed.sent


def _give_up(unbuilt: Sequence[tuple[claim_steps.Claim, Exception]]) -> None:
    """Leave claims to code that knows them; refuse a step for good whose builder failed."""
    unknown: dict[str, tuple[UnknownAgent | UnknownWorkflow, list[claim_steps.Claim]]] = {}
    for claim, error in unbuilt:
        if isinstance(error, UnknownAgent | UnknownWorkflow):
            unknown.setdefault(error.definition, (error, []))[1].append(claim)
            continue
        fault = FaultRecord.of_error("permanent", "request_builder_failed", error)
        settle([Reply(claim.step_id, claim.claim_id, claim.attempt, fault=fault)])
    for definition, (error, left) in unknown.items():
        # No failure, and an alert.
        raise_alert("unknown_definition", params=error.params, subject=definition)
        unstarted.hand_back(left, me("scheduler"), str(error), delay_seconds=UNKNOWN_SECONDS)
