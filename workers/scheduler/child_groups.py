"""Carry on the steps that are lists of children: the Scheduler is their agent."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace

from workers.conf import sas
from workers.definitions import registry
from workers.definitions.workflow import ask
from workers.exceptions import UnknownAgent, UnknownWorkflow
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.rules import child_groups, operator_commands
from workers.rules.transitions import LockedProcess
from workers.runtime.worker_identity import me
from workers.scheduler import waking
from workers.scheduler.settlement import follow, settle
from workers.states import FINAL_PROCESS_STATES
from workers.store import alerts, isolation, leases, live_workers
from workers.store.child_groups import begin, carry_on, expand, groups
from workers.store.child_groups.carry_on import Carried
from workers.store.locked import contexts
from workers.store.settle import settle_replies

log = logging.getLogger(__name__)

#: The name of the duty that looks at groups which stand still, and of its lease.
DUTY = "child_groups"


def advance(now: datetime | None = None) -> int:
    """Begin due steps, and carry on the groups that have news; return how many."""
    worker = me("scheduler")
    begun = begin.begin(int(sas.claim_batch), worker, now)
    follow(begun, now)
    return begun.applied + _carry_on(groups.flagged(int(sas.claim_batch)), worker, now)


def look_at_still(now: datetime | None = None) -> None:
    """Carry on a portion of the groups that have no news, in case one stands still."""
    limit = int(sas.claim_batch)
    ids = groups.active(leases.cursor(DUTY), limit)
    leases.set_cursor(DUTY, ids[-1] if len(ids) == limit else 0)
    _carry_on(ids, me("scheduler"), now)


def _carry_on(group_ids: Sequence[int], worker: str, now: datetime | None) -> int:
    replies: list[Reply] = []

    def one(part: Sequence[int]) -> None:
        for group_id in part:
            if reply := _one(group_id, worker, now):
                replies.append(reply)

    for group_id in group_ids:
        isolation.apart([group_id], one, isolation.alerting("child group", "carry on", now))
    if replies:
        settle(replies, now)
    return len(group_ids)


def _one(group_id: int, worker: str, now: datetime | None) -> Reply | None:
    """Carry one group on as far as it goes now; return the reply to its step, if it is over."""
    before = None
    while (carried := carry_on.carry_on(group_id, worker, now)) is not None:
        waking.wake(carried.agents)
        if carried.unknown is not None:
            _leave_to_others(carried, carried.unknown)
        group = carried.group
        if carried.reply is not None:
            return carried.reply
        if not group.stopped and not group.is_expanded and carried.parent.waiting:
            is_expanded, reply = _expand(carried)
            if is_expanded:
                continue
            return reply
        work = carried.to_undo, carried.to_pause, carried.to_resume
        # What is left of a portion is held by other sessions, or runs to its end.
        if not carried.is_cut_off and (work == before or not any(work)):
            return None
        _go_down(carried, worker, now)
        before = work
    return None


def _expand(carried: Carried) -> tuple[bool, Reply | None]:
    """Ask for the items and write their rows; return the reply to a step that has none."""
    group, parent = carried.group, carried.parent
    context = contexts.read([parent.process_id])[parent.process_id]
    try:
        spec = registry.workflow(parent.workflow, parent.version).step(parent.step)
        is_first = group.total is None
        unless = spec.unless if is_first and callable(spec.unless) else None
        if unless is not None and ask("unless", unless, context.input, context.results):
            return False, parent.reply()
        assert spec.children is not None, f"step {spec.name} has no children in this code"
        items = child_groups.check_items(
            spec.children.over(context.input, context.results), group.total
        )
    except UnknownWorkflow as error:
        _leave_to_others(carried, error)
        return False, None
    except Exception as error:
        log.exception(
            "children_unusable", extra={"process_id": parent.process_id, "step": parent.step}
        )
        fault = FaultRecord.of_error("permanent", child_groups.UNUSABLE, error)
        # Each child that has been born may have had its effect.
        fault = fault if is_first else replace(fault, no_effect=UNSET)
        return False, parent.reply(fault=fault)
    return expand.expand(group.id, items), None


def _leave_to_others(carried: Carried, error: UnknownWorkflow | UnknownAgent) -> None:
    """Raise an alert unless a live worker's code has what this code lacks."""
    process_id, group = carried.parent.process_id, carried.group
    elsewhere = live_workers.known_elsewhere()
    if not any(name.startswith(f"{group.workflow}:") for name in elsewhere.versions):
        alerts.raise_alert(
            "unknown_definition",
            params=error.params,
            subject=error.definition,
            process_id=process_id,
        )


def _go_down(carried: Carried, worker: str, now: datetime | None) -> None:
    """Undo, pause and resume children as their parent is."""
    lasting: list[int] = []

    def undo(locked: LockedProcess) -> None:
        if not child_groups.undo(locked, worker):
            lasting.append(locked.process.id)

    def pause(locked: LockedProcess) -> None:
        if not locked.is_paused and locked.process.state not in FINAL_PROCESS_STATES:
            operator_commands.pause(locked, worker, "its parent is paused")

    def resume(locked: LockedProcess) -> None:
        if locked.is_paused:
            operator_commands.resume(locked, worker, "its parent is resumed")

    _move(carried.to_undo, undo, worker, now)
    _move(carried.to_pause, pause, worker, now)
    _move(carried.to_resume, resume, worker, now)
    if lasting:
        carry_on.lasting(carried.group.id, lasting)


def _move(
    process_ids: Sequence[int],
    decide: Callable[[LockedProcess], None],
    worker: str,
    now: datetime | None,
) -> None:
    results = isolation.apart(
        process_ids,
        lambda part: settle_replies.advance(part, worker, now, decide),
        isolation.alerting("process", "decide", now),
    )
    for result in results:
        follow(result, now)
