"""Settling replies, and sending what they made ready to its agents."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from django.db import InterfaceError, OperationalError

from workers.exceptions import UnknownAgent, UnknownStep, UnknownWorkflow
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Bundle, Reply
from workers.runtime.worker_identity import me
from workers.scheduler import background_sender, bundles, claiming, passing_on
from workers.scheduler.reply_batches import Arrivals
from workers.store.alerts import raise_alert
from workers.store.claims import claim_steps, request_data, unstarted
from workers.store.settle import settle_replies
from workers.wire import dispatch

log = logging.getLogger(__name__)

#: Time before claims of a step that this code's version of its workflow lacks are tried again.
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
    own_room: claim_steps.Room | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> settle_replies.SettleResult:
    """Apply replies and send what they made ready.

    A reply that cannot be applied, whatever is wrong with it, counts as a failure of its own
    step and holds up no other.  Raises when the database is away.  ``forward`` sends the
    claims instead of ``send``, and is needed where some are begun ``here``; ``meanwhile`` may be
    called while the database is waited for.
    """
    settled = _apply(batch, now, filed=filed, own_room=own_room, meanwhile=meanwhile)
    (forward or send)(all_claims(settled, now, meanwhile, own_room))
    return settled


def all_claims(
    settled: settle_replies.SettleResult,
    now: datetime | None,
    meanwhile: Callable[[], object] | None = None,
    own_room: claim_steps.Room | None = None,
) -> Sequence[claim_steps.Claim]:
    """Return the claims that a settlement made, and those of steps that waited for its room.

    What fails of the latter is left to the next look: the replies are settled, and must not come
    again for it.
    """
    if settled.has_news:
        dispatch.report_later()
    if not settled.waited_for:
        passing_on.pass_on(now)
        return settled.claims
    # Fill all the room: a later settlement that finds some leaves new steps to wake-ups.
    return [*settled.claims, *take_due(settled.waited_for, own_room, now, meanwhile)]


def take_due(
    agents: set[str],
    own_room: claim_steps.Room | None,
    now: datetime | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> list[claim_steps.Claim]:
    """Claim all due steps of some agents that there is room for; raises nothing.

    Should a claim fail, those before it are returned, and the next look finds the others.
    """
    claims: list[claim_steps.Claim] = []
    has_news = False
    try:
        for taken in claiming.batches(agents, me("scheduler"), now, meanwhile, own_room):
            claims += taken
            has_news = has_news or taken.has_news
    except Exception:
        log.exception("waiting_claims_failed", extra={"agents": sorted(agents)})
        if own_room is not None:
            own_room.is_answered = False
    if has_news:
        dispatch.report_later()
    passing_on.pass_on(now)
    return claims


def _apply(
    batch: Sequence[Reply],
    now: datetime | None,
    *,
    filed: bool,
    own_room: claim_steps.Room | None,
    meanwhile: Callable[[], object] | None,
) -> settle_replies.SettleResult:
    try:
        return settle_replies.settle(
            batch, me("scheduler"), now, filed=filed, own_room=own_room, meanwhile=meanwhile
        )
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("batch_unusable", extra={"replies": len(batch)})
        if len(batch) > 1:
            return _add([settle([reply], now, filed=filed) for reply in batch])
        if batch[0].fault is not None and batch[0].fault.code == UNUSABLE:
            # Not even that can be applied: its claim expires, as if nothing had come.
            return settle_replies.SettleResult()
        return _add([settle([_unusable(batch[0])], now)])


def _unusable(reply: Reply) -> Reply:
    # Transient: the call may well have had its effect, and the step must stay in doubt.
    fault = FaultRecord(
        "transient",
        UNUSABLE,
        "the agent's reply cannot be stored; its effect may have happened",
    )
    return Reply(reply.step_id, reply.claim_id, reply.attempt, fault=fault)


def _add(parts: Sequence[settle_replies.SettleResult]) -> settle_replies.SettleResult:
    """Return what was counted of parts whose claims have been sent already."""
    return settle_replies.SettleResult(
        applied=sum(part.applied for part in parts), stale=sum(part.stale for part in parts)
    )


def send(taken: Sequence[claim_steps.Claim]) -> int:
    """Send claims to their agents in bundles; return how many the broker took.

    Claims that the broker refused are released for a while, without a failure; when it
    took nothing at all, claiming pauses.  Claims that this code cannot serve are handed
    back for newer code to take.
    """
    return _note_outcome(background_sender.send(_loader(taken)()))


def begin_here(taken: Sequence[claim_steps.Claim]) -> list[Bundle]:
    """Return the requests of claims that this process has started; refuse those without one."""
    load = _loader(taken)()
    _give_up(load.unbuilt)
    return [bundle for bundle, _ in load.bundles]


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
        unstarted.release(
            outcome.refused,
            me("scheduler"),
            "the broker did not take the request",
            delay_seconds=REFUSED_SECONDS if outcome.sent else 0,
        )
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
        # No failure.  Only a version that was edited is claimed again here, and so rests.
        delay_seconds = 0
        if isinstance(error, UnknownStep):
            raise_alert("unknown_definition", params=error.params, subject=definition)
            delay_seconds = UNKNOWN_SECONDS
        unstarted.release(left, me("scheduler"), str(error), delay_seconds=delay_seconds)
