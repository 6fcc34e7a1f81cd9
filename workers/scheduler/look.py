"""Look at the rows, and carry on whatever they show as unfinished."""

from collections.abc import Callable, Sequence
from datetime import datetime

from workers.conf import sas
from workers.definitions import registry
from workers.rules import apply_reply
from workers.rules.transitions import LockedProcess
from workers.runtime.worker_identity import me
from workers.scheduler import child_groups, waking
from workers.scheduler.settlement import follow, settle
from workers.store import (
    duties,
    isolation,
    key_limits,
    key_places,
    leases,
    live_workers,
    worker_alerts,
)
from workers.store.claims import find_work
from workers.store.duties import Duty, When
from workers.store.settle import filed_replies, settle_replies
from workers.wire import dispatch


def advance(now: datetime | None = None) -> int:
    """Carry on whatever the rows show as unfinished; return how much of it there was.

    That is: filed replies, decisions that supervisors left, due steps, for which it wakes agents,
    and once per poll interval a portion of the open processes, in case one stands still.
    """
    worker = me("scheduler")
    look = find_work.look(now)
    try:
        count = _catch_up(look, worker, now)
    finally:
        # Rare work comes last, because no wake-up is sent for it; and whatever became of the rest.
        if look.is_poll_due and leases.is_due(leases.POLL, sas.poll_seconds, now):
            _poll(worker, now)
            if look.has_blocked:
                key_places.mend()
            if any(agent.per_key for agent in registry.agents()):
                key_limits.forget_full(key_limits.PORTION, now)
    waking.wake(due := find_work.due_agents(now))
    if look.has_untold:
        # Report news of an operator or of a sweep; or replace a lost wake-up.
        dispatch.report_later()
    waking.pass_on(now)
    return count + len(due)


def _catch_up(look: find_work.Look, worker: str, now: datetime | None) -> int:
    """Settle filed replies, and decide about flagged processes; return how many."""
    limit = int(sas.settle_batch)
    count = 0
    while look.has_filed and (filed := filed_replies.filed(limit)):
        applied = settle(filed, now).applied
        count += applied
        if not applied:
            break
    # Filed replies may have left a decision to be made.
    if (look.has_flagged or look.has_filed) and (flagged := _flagged(limit, now)):
        decided = _advance(
            flagged, worker, now, lambda locked: apply_reply.carry_out_policies(locked, worker)
        )
        count += decided
        if decided and len(flagged) == limit:
            dispatch.wake_scheduler_later()
    if look.has_children:
        count += child_groups.advance(now)
    return count


def _advance(
    process_ids: Sequence[int],
    worker: str,
    now: datetime | None,
    decide: Callable[[LockedProcess], None] | None = None,
) -> int:
    """Carry processes on; one with which that fails holds up no other.  Returns how many."""
    results = isolation.apart(
        process_ids,
        lambda part: settle_replies.advance(part, worker, now, decide),
        isolation.alerting("process", "decide", now),
    )
    for result in results:
        follow(result, now)
    return sum(result.applied for result in results)


def _flagged(limit: int, now: datetime | None) -> list[int]:
    return find_work.flagged(limit, live_workers.known_elsewhere(now).versions, now)


def _poll(worker: str, now: datetime | None) -> None:
    """Carry on processes that stand still, and perform the duties of a poll."""
    _advance(find_work.standing_still(int(sas.claim_batch)), worker, now)
    duties.perform(duties.registered(When.POLL) | _own_duties(now), worker)


def _own_duties(now: datetime | None) -> dict[str, Duty]:
    """Return the Scheduler's own duties of a poll, by the names of their leases."""
    agents = {queue: registry.of_queues([queue]) for queue in registry.queues()}
    of_groups: dict[str, Duty] = {}
    if any(spec.children for workflow in registry.workflows() for spec in workflow.steps):
        of_groups = {child_groups.DUTY: lambda _lease: child_groups.look_at_still(now)}
    return of_groups | {
        "worker_alerts": lambda _lease: worker_alerts.tell(agents, now),
        "definition_alerts": lambda _lease: worker_alerts.tell_unknown_definitions(now),
        "gone_workers": lambda _lease: live_workers.forget_gone(now),
    }
