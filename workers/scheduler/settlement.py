"""Settle replies, and send the steps that they made ready to their agents."""

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

#: Time before claiming again a step that this code's version of its workflow lacks.
UNKNOWN_SECONDS = 30
#: Time before claiming again for an agent whose queue refused requests.
REFUSED_SECONDS = 5
#: Code of the fault that replaces a reply that cannot be applied.
UNUSABLE = "reply_unusable"


def settle_all(arrivals: Arrivals) -> None:
    """Settle replies, one batch after another.

    A settlement mostly waits for the database.  Meanwhile the next batch is taken from the queue,
    and the steps that the previous one made ready are sent.
    """
    sender = background_sender.BackgroundSender(_note_outcome)

    def forward(claims: Sequence[claim_steps.Claim]) -> None:
        if not claims:
            return
        if arrivals.is_over():
            sender.wait()
            send(claims)
        else:
            sender.send(_loader(claims))

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
    """Apply replies and send the steps that they made ready.

    A reply that cannot be applied, for whatever reason, counts as a failure of its own step and
    holds up no other.  Raises when the database is unavailable.  ``forward`` sends the claims
    instead of ``send``, and is needed with ``own_room``; ``meanwhile`` may be called while the
    database works.
    """
    result = _apply(batch, now, filed=filed, own_room=own_room, meanwhile=meanwhile)
    (forward or send)(all_claims(result, now, meanwhile, own_room))
    return result


def all_claims(
    result: settle_replies.SettleResult,
    now: datetime | None,
    meanwhile: Callable[[], object] | None = None,
    own_room: claim_steps.Room | None = None,
) -> Sequence[claim_steps.Claim]:
    """Return the claims of a settlement, and new ones of steps that waited for freed room.

    If the latter fail, the next look claims them: the replies are settled, and must not be
    delivered again.
    """
    if result.has_news:
        dispatch.report_later()
    if not result.waited_for:
        passing_on.pass_on(now)
        return result.claims
    # Fill all the room: a later settlement that finds some leaves new steps to wake-ups.
    return [*result.claims, *take_due(result.waited_for, own_room, now, meanwhile)]


def take_due(
    agents: set[str],
    own_room: claim_steps.Room | None,
    now: datetime | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> list[claim_steps.Claim]:
    """Claim all due steps of some agents within their room; raises nothing.

    If a claim fails, returns those before it, and the next look finds the others.
    """
    claims: list[claim_steps.Claim] = []
    has_news = False
    try:
        for batch in claiming.batches(agents, me("scheduler"), now, meanwhile, own_room):
            claims += batch
            has_news = has_news or batch.has_news
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
            # Not even that can be applied: its claim expires, as if no reply had come.
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
    """Add the counts of parts whose claims are already sent."""
    return settle_replies.SettleResult(
        applied=sum(part.applied for part in parts), stale=sum(part.stale for part in parts)
    )


def send(claims: Sequence[claim_steps.Claim]) -> int:
    """Send claims to their agents in bundles; return how many the broker took.

    Claims that the broker refused are released for a while, without counting a failure; if it
    took none at all, claiming pauses.  Claims that this code cannot serve are released for newer
    code.
    """
    return _note_outcome(background_sender.send(_loader(claims)()))


def begin_here(claims: Sequence[claim_steps.Claim]) -> list[Bundle]:
    """Return the bundles of claims that this process has started; give up those without request."""
    load = _loader(claims)()
    _give_up(load.unbuilt)
    return [bundle for bundle, _ in load.bundles]


def _loader(claims: Sequence[claim_steps.Claim]) -> Callable[[], bundles.Load]:
    """Return a function that builds the claims' bundles, without using the database."""
    return partial(bundles.load, claims, request_data.material(claims))


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
    """Release claims for code that knows them; end a step in error whose builder failed."""
    unknown: dict[str, tuple[UnknownAgent | UnknownWorkflow, list[claim_steps.Claim]]] = {}
    for claim, error in unbuilt:
        if isinstance(error, UnknownAgent | UnknownWorkflow):
            unknown.setdefault(error.definition, (error, []))[1].append(claim)
            continue
        fault = FaultRecord.of_error("permanent", "request_builder_failed", error)
        settle([Reply(claim.step_id, claim.claim_id, claim.attempt, fault=fault)])
    for definition, (error, claims) in unknown.items():
        # Counts no failure.  Only an edited version is claimed again here, so only that rests.
        delay_seconds = 0
        if isinstance(error, UnknownStep):
            raise_alert("unknown_definition", params=error.params, subject=definition)
            delay_seconds = UNKNOWN_SECONDS
        unstarted.release(claims, me("scheduler"), str(error), delay_seconds=delay_seconds)
