"""Look at the rows, and carry on whatever they show as unfinished."""

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
    """Carry on whatever the rows show as unfinished; return how many claims it sent.

    That is: filed replies, decisions that supervisors left, unstarted claims, due steps, and once
    per poll interval a portion of the open processes, in case one stands still.
    """
    worker, agents = me("scheduler"), {agent.name for agent in registry.agents()}
    look, batch = _look_and_claim(agents, worker, now)
    count = send(batch)
    later_count, has_news = _carry_on(look, batch, agents, worker, now)
    if look.has_untold or has_news:
        # Report news of this look, of an operator or of a sweep; or replace a lost wake-up.
        dispatch.report_later()
    passing_on.pass_on(now)
    return count + later_count


def _look_and_claim(
    agents: set[str], worker: str, now: datetime | None
) -> tuple[find_work.Look, claim_steps.ClaimBatch]:
    """Claim due steps, and read in the same round trip what else there is to do."""
    if claiming.pause.is_on():
        return find_work.look(now), claim_steps.ClaimBatch()
    read_look: list[Callable[[], find_work.Look]] = []
    batch = claim_steps.claim_due(
        agents, worker, now, send_along=lambda: read_look.append(find_work.send_look(now))
    )
    return read_look[0](), batch


def _carry_on(
    look: find_work.Look,
    batch: claim_steps.ClaimBatch,
    agents: set[str],
    worker: str,
    now: datetime | None,
) -> tuple[int, bool]:
    """Do the other work that a look has found, after the claims of ``batch`` were sent.

    Returns how many claims it sent, and whether there may be news for a submitter.
    """
    limit = int(sas.settle_batch)
    count, has_news = 0, batch.has_news
    while look.has_filed and (filed := filed_replies.filed(limit)):
        if not settle(filed, now, filed=True).applied:
            break
    # Filed replies may have left a decision to be made.
    if (look.has_flagged or look.has_filed) and (flagged := _flagged(limit, now)):
        advanced = settle_replies.advance(
            flagged, worker, now, lambda locked: apply_reply.carry_out_policies(locked, worker)
        )
        count += send(all_claims(advanced, now))
    if batch.is_to_go_on or look.has_filed or look.has_flagged:
        for later_batch in claiming.batches(agents, worker, now):
            count += send(later_batch)
            has_news = has_news or later_batch.has_news
    # Rare work comes last: no wake-up is sent for it.
    if look.is_poll_due and leases.is_due(leases.POLL, sas.poll_seconds, now):
        count += _poll(worker, now)
    if claiming.pause.is_on():
        return count, has_news
    if look.has_lost:
        count += send(unstarted.lost(worker, now))
    wait = flow_control.seconds_to_next(now) if look.has_rates else None
    if wait is not None and wait < sas.poll_seconds:
        dispatch.wake_scheduler_after(wait)
    return count, has_news


def _flagged(limit: int, now: datetime | None) -> list[int]:
    return find_work.flagged(limit, live_code.known_elsewhere(now).versions)


def _poll(worker: str, now: datetime | None) -> int:
    """Carry on processes that stand still, and perform the duties of a poll.

    Returns the number of claims sent.
    """
    still = find_work.standing_still(int(sas.claim_batch))
    count = send(all_claims(settle_replies.advance(still, worker, now), now))
    duties.perform(duties.registered(When.POLL) | _own_duties(now), worker)
    return count


def _own_duties(now: datetime | None) -> dict[str, Duty]:
    """Return the Scheduler's own duties of a poll, by the names of their leases."""
    agents = {queue: registry.of_queues([queue]) for queue in registry.queues()}
    return {
        "worker_alerts": lambda _lease: worker_alerts.tell(agents, now),
        "definition_alerts": lambda _lease: unknown_definitions.tell(now),
        "gone_workers": lambda _lease: live_workers.forget_gone(now),
    }
