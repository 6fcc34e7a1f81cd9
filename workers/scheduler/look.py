"""A look at the rows: whatever they say can be carried on, is."""

from collections.abc import Callable
from datetime import datetime

from workers.conf import sas
from workers.definitions import registry
from workers.rules import apply_reply
from workers.runtime.worker_identity import me
from workers.scheduler import claiming, passing_on
from workers.scheduler.settlement import all_claims, send, settle
from workers.store import (
    duties,
    leases,
    live_code,
    live_workers,
    unknown_definitions,
    worker_alerts,
)
from workers.store.claims import claim_steps, find_work, unstarted
from workers.store.duties import Duty, When
from workers.store.flow import flow_control
from workers.store.settle import filed_replies, settle_replies
from workers.wire import dispatch


def advance(now: datetime | None = None) -> int:
    """Carry on whatever the rows say can be carried on; return how many claims it sent.

    Filed replies, decisions that supervisors left, claims nobody started, due steps, and
    once per poll interval a portion of the open processes, should one stand still.
    """
    worker, agents = me("scheduler"), {agent.name for agent in registry.agents()}
    look, taken = _look_and_claim(agents, worker, now)
    sent = send(taken)
    more, has_news = _carry_on(look, taken, agents, worker, now)
    if look.has_untold or has_news:
        # Tell of this look's work, an operator's, a sweep's, or of a wake-up that was lost.
        dispatch.report_later()
    passing_on.pass_on(now)
    return sent + more


def _look_and_claim(
    agents: set[str], worker: str, now: datetime | None
) -> tuple[find_work.Look, claim_steps.ClaimBatch]:
    """Claim due steps, and ask in the same round trip what else there is to do."""
    if claiming.pause.is_on():
        return find_work.look(now), claim_steps.ClaimBatch()
    read_look: list[Callable[[], find_work.Look]] = []
    taken = claim_steps.claim_due(
        agents, worker, now, send_along=lambda: read_look.append(find_work.send_look(now))
    )
    return read_look[0](), taken


def _carry_on(
    look: find_work.Look,
    taken: claim_steps.ClaimBatch,
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
    if (look.has_flagged or look.has_filed) and (flagged := _flagged(limit, now)):
        advanced = settle_replies.advance(
            flagged, worker, now, lambda locked: apply_reply.carry_out_policies(locked, worker)
        )
        sent += send(all_claims(advanced, now))
    if taken.is_to_go_on or look.has_filed or look.has_flagged:
        for more in claiming.batches(agents, worker, now):
            sent += send(more)
            has_news = has_news or more.has_news
    # What is rarely found comes last: a nudge tells of none of it.
    if look.is_poll_due and leases.is_due(leases.POLL, sas.poll_seconds, now):
        sent += _poll(worker, now)
    if claiming.pause.is_on():
        return sent, has_news
    if look.has_lost:
        sent += send(unstarted.lost(worker, now))
    wait = flow_control.seconds_to_next(now) if look.has_rates else None
    if wait is not None and wait < sas.poll_seconds:
        dispatch.nudge_after(wait)
    return sent, has_news


def _flagged(limit: int, now: datetime | None) -> list[int]:
    return find_work.flagged(limit, live_code.known_elsewhere(now).versions)


def _poll(worker: str, now: datetime | None) -> int:
    """Carry on processes that stand still, and perform the duties of a poll.

    Return the claims sent.
    """
    still = find_work.standing_still(int(sas.claim_batch))
    sent = send(all_claims(settle_replies.advance(still, worker, now), now))
    duties.perform(duties.registered(When.POLL) | _own_duties(now), worker)
    return sent


def _own_duties(now: datetime | None) -> dict[str, Duty]:
    """Return what the Scheduler's own poll does beside carrying on, by the names of the leases."""
    agents = {queue: registry.of_queues([queue]) for queue in registry.queues()}
    return {
        "worker_alerts": lambda _lease: worker_alerts.tell(agents, now),
        "definition_alerts": lambda _lease: unknown_definitions.tell(now),
        "gone_workers": lambda _lease: live_workers.forget_gone(now),
    }
