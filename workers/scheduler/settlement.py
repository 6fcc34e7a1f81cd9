"""Settling replies, and sending what they made ready to its agents."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from django.db import InterfaceError, OperationalError

from workers.exceptions import UnknownAgent, UnknownWorkflow
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.runtime.worker_identity import me
from workers.scheduler import background_sender, bundles, claiming
from workers.scheduler.reply_batches import Arrivals
from workers.store.alerts import raise_alert
from workers.store.claims import claim_steps, request_data, unstarted
from workers.store.settle import settle_replies
from workers.wire import dispatch

log = logging.getLogger(__name__)

#: Time before claims that this code cannot serve are tried again.
UNKNOWN_SECONDS = 30
#: Time before claims of an agent whose queue refused them are tried again.
REFUSED_SECONDS = 5
#: Code of the fault that stands in for a reply which cannot be applied.
UNUSABLE = "reply_unusable"


def settle_all(arrivals: Arrivals) -> None:
    """Settle one batch after another.

    A settlement mostly waits for the database.  Meanwhile the next batch is taken from the queue,
    and what the one before made ready is sent.
    """
    sender = background_sender.BackgroundSender(_note_outcome)

    def forward(taken: Sequence[claim_steps.Claim]) -> None:
        if not taken:
            return
        if arrivals.is_over():
            sender.wait()
            send(taken)
        else:
            sender.send(_loader(taken))

    try:
        while batch := arrivals.next():
            settle(batch, forward=forward, meanwhile=arrivals.look_ahead)
    finally:
        sender.wait()


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
    step and holds up no other.  Raises when the database is away.  ``forward`` sends the
    claims instead of ``send``; ``meanwhile`` may be called while the database is waited for.
    """
    settled = _apply(batch, now, filed=filed, meanwhile=meanwhile)
    (forward or send)(all_claims(settled, now, meanwhile))
    return settled


def all_claims(
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
        for taken in claiming.batches(settled.waited_for, me("scheduler"), now, meanwhile):
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


def send(
    taken: Sequence[claim_steps.Claim], keep: Callable[[bundles.Load], object] | None = None
) -> int:
    """Send claims to their agents in bundles; return how many the broker took.

    ``keep`` may take out of the load what need not be sent.

    Claims that the broker refused are released for a while, without a failure; when it
    took nothing at all, claiming pauses.  Claims that this code cannot serve are handed
    back for newer code to take.
    """
    load = _loader(taken)()
    if keep is not None:
        keep(load)
    return _note_outcome(background_sender.send(load))


def _loader(taken: Sequence[claim_steps.Claim]) -> Callable[[], bundles.Load]:
    """Return what loads claims into bundles, and asks the database nothing."""
    return partial(bundles.load, taken, request_data.material(taken))


def _note_outcome(outcome: background_sender.Outcome) -> int:
    """Release the claims that were not sent; return how many were."""
    if outcome.sent:
        claiming.pause.end()
    elif outcome.refused:
        claiming.pause.lengthen()
    if outcome.refused:
        unstarted.hand_back(
            outcome.refused,
            me("scheduler"),
            "the broker did not take the request",
            delay_seconds=REFUSED_SECONDS if outcome.sent else 0,
        )
    if outcome.unbuilt:
        _give_up(outcome.unbuilt)
    return outcome.sent


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
