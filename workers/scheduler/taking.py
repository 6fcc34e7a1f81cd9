"""Take due steps for an agent process."""

import logging
from collections.abc import Sequence
from datetime import datetime

from workers.exceptions import UnknownAgent, UnknownStep, UnknownWorkflow
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply, Request
from workers.runtime.worker_identity import me
from workers.scheduler import requests, settlement, waking
from workers.store.alerts import raise_alert
from workers.store.claims import claim_steps, release, request_data
from workers.store.claims.claim_steps import Claim, Room
from workers.wire import dispatch

log = logging.getLogger(__name__)

#: The most batches that one taking claims; the next one goes on from there.
MOST_BATCHES = 50
#: Time before claiming again a step that this code's version of its workflow lacks.
UNKNOWN_SECONDS = 30


def take_due(agents: set[str], room: Room, now: datetime | None = None) -> list[Claim]:
    """Claim and start all due steps of some agents within a process's room; raises nothing.

    If a claim fails, returns those before it, and ``room.is_answered`` is false: the failed one may
    have been written.
    """
    claims: list[Claim] = []
    has_news = False
    try:
        for _ in range(MOST_BATCHES):
            batch = claim_steps.claim_due(agents, room, now)
            claims += batch
            has_news = has_news or batch.has_news
            if not batch.is_to_go_on:
                break
    except Exception:
        log.exception("taking_failed", extra={"agents": sorted(agents)})
        room.is_answered = False
    if has_news:
        dispatch.report_later()
    waking.pass_on(now)
    return claims


def requests_of(claims: Sequence[Claim]) -> list[tuple[Claim, Request]]:
    """Return the requests of claims that this process has started.

    A claim without one is given up: released for code that knows it, ended in error if its
    builder failed, or skipped if it is needless.
    """
    built = requests.build(claims, request_data.material(claims))
    uncalled = [_uncalled(claim) for claim in built.needless]
    unknown: dict[str, tuple[UnknownAgent | UnknownWorkflow, list[Claim]]] = {}
    for claim, error in built.unbuilt:
        if isinstance(error, UnknownAgent | UnknownWorkflow):
            unknown.setdefault(error.definition, (error, []))[1].append(claim)
            continue
        fault = FaultRecord.of_error("permanent", "request_builder_failed", error)
        uncalled.append(_uncalled(claim, fault))
    if uncalled:
        settlement.settle(uncalled)
    for definition, (error, of_definition) in unknown.items():
        # Counts no failure.  Only an edited version is claimed again here, so only that rests.
        delay_seconds = 0
        if isinstance(error, UnknownStep):
            raise_alert("unknown_definition", params=error.params, subject=definition)
            delay_seconds = UNKNOWN_SECONDS
        release.uncalled(of_definition, me("agent"), str(error), delay_seconds=delay_seconds)
    return built.requests


def _uncalled(claim: Claim, fault: FaultRecord | None = None) -> Reply:
    return Reply(claim.step_id, claim.claim_id, claim.attempt, fault=fault, is_uncalled=True)
