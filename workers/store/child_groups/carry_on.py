"""Carry a child group on: count the children that have ended, and bear or undo the next."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from workers.conf import sas
from workers.definitions import attributes, completing, registry
from workers.definitions.workflow import Workflow
from workers.exceptions import UnknownAgent, UnknownWorkflow
from workers.models import Attribute
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.rules.attributes import asked_for
from workers.rules.child_groups import LASTING, PROCESSED_OUTCOMES, GroupRow
from workers.rules.new_processes import HIGHEST_PRIORITY, LONGEST_SUBJECT
from workers.rules.rows import NewProcess
from workers.store.child_groups import groups
from workers.store.child_groups.groups import PORTION, Parent
from workers.store.db import dialect, prepared_plans
from workers.store.db.transactions import durable
from workers.store.submit import create_processes


@dataclass(slots=True)
class Carried:
    """What there is to do for a group outside of its lock."""

    group: GroupRow
    parent: Parent
    born: int = 0
    #: The agents of what the born ones begin with.
    agents: Collection[str] = ()
    #: What is to be born, and this code does not have.
    unknown: UnknownWorkflow | UnknownAgent | None = None
    #: The reply to the step that waits for the group.
    reply: Reply | None = None
    #: Children to undo, to pause and to resume, a portion of each.
    to_undo: Sequence[int] = ()
    to_pause: Sequence[int] = ()
    to_resume: Sequence[int] = ()
    #: There is more to do at once.
    is_cut_off: bool = False


@prepared_plans.kept()
def carry_on(group_id: int, worker: str, now: datetime | None) -> Carried | None:
    """Count, bear and undo under the group's lock; None: another session holds it.

    A child is born with its row in one commit, and only while births are not stopped: none escapes
    an undo.
    """
    with durable("child_groups.carry_on"):
        group = groups.lock(group_id, skip_locked=True)
        if group is None:
            return None
        carried = Carried(group, groups.parent(group))
        counted = _count(group)
        under_way = groups.under_way(group_id)
        if group.is_undoing:
            _undo(carried, under_way)
        elif wanted := group.births(under_way, is_paused=carried.parent.is_paused):
            _bear(carried, wanted, worker, now)
        if not group.is_undoing and group.is_over(under_way + carried.born):
            fault = group.fault()
            carried.reply = carried.parent.reply(
                fault=fault, result=None if fault else group.result()
            )
        _pause(carried)
        carried.is_cut_off |= counted == PORTION
        groups.write(group, is_flagged=carried.unknown is not None)
    return carried


def _count(group: GroupRow) -> int:
    """Count a portion of the children that have ended; return how many."""
    rows = dialect.fetch(
        "UPDATE workers_child SET state = 'counted' WHERE id IN (SELECT k.id FROM workers_child k"
        " WHERE k.group_id = %s AND k.state = 'ended' AND k.state IN ('open', 'ended')"
        " ORDER BY k.id LIMIT %s) AND state = 'ended' RETURNING outcome",
        [group.id, PORTION],
    )
    outcomes = Counter(outcome in PROCESSED_OUTCOMES for (outcome,) in rows)
    group.processed += outcomes[True]
    group.failed += outcomes[False]
    return len(rows)


def _bear(carried: Carried, wanted: int, worker: str, now: datetime | None) -> None:
    """Submit the next children, with keys made from the parent's."""
    group, parent = carried.group, carried.parent
    queued = dialect.fetch(
        'SELECT id, "index", item FROM workers_child WHERE group_id = %s AND "index" >= %s'
        " AND state = 'queued' ORDER BY \"index\" LIMIT %s",
        [group.id, group.born_to, min(wanted, PORTION)],
    )
    if not queued or parent.waiting is None:
        return
    try:
        workflow = completing.completed(registry.workflow(group.workflow))
    except (UnknownWorkflow, UnknownAgent) as error:
        carried.unknown = error
        return
    try:
        values = _limit_values(workflow, parent)
    except ValueError as error:
        fault = FaultRecord("permanent", "limit_attribute", str(error), no_effect=True)
        carried.reply = parent.reply(fault=fault, result=None)
        return
    requests = [
        replace(_request(group, parent, index, item), attributes=values or None)
        for _, index, item in queued
    ]
    processes, _ = create_processes.submit(workflow, requests, actor=worker, now=now)
    pairs = [
        {"id": row[0], "process_id": process.pk}
        for row, process in zip(queued, processes, strict=True)
    ]
    source = dialect.rows_as("v", {"id": "id", "process_id": "id"})
    if workflow.attributes:
        # Those that both declare are the parent's.
        dialect.execute(
            "INSERT INTO workers_attribute (process_id, name, value)"
            f" SELECT v.process_id, a.name, a.value FROM {source} CROSS JOIN workers_attribute a"
            f" WHERE a.process_id = %s AND {dialect.among('a.name')} ON CONFLICT DO NOTHING",
            [dialect.encode(pairs), parent.process_id, dialect.id_list([*workflow.attributes])],
        )
    dialect.execute(
        "UPDATE workers_child SET state = 'open', process_id = v.process_id"
        f" FROM {source} WHERE workers_child.id = v.id AND workers_child.state = 'queued'",
        [dialect.encode(pairs)],
    )
    group.born_to = queued[-1][1] + 1
    carried.born = len(queued)
    is_judged = create_processes.begins_judged(workflow)
    carried.agents = {spec.agent for spec in workflow.steps if is_judged or not spec.after}
    carried.is_cut_off = len(queued) == PORTION < wanted


def _limit_values(workflow: Workflow, parent: Parent) -> dict[str, object]:
    """Return the attributes by which children are limited: their parent's; raise if it lacks one.

    Reads nothing for a workflow without limits.
    """
    asked = asked_for(workflow)
    if not asked:
        return {}
    rows = Attribute.objects.filter(process=parent.process_id, name__in=[*asked])
    texts = dict(rows.values_list("name", "value"))
    for name, asker in asked.items():
        if name not in texts or name not in workflow.attributes:
            raise ValueError(
                f"attribute {name} must be declared and given: {asker} limits workflow"
                f" {workflow.name} by it. Give it to the parent."
            )
    return {name: attributes.value(workflow.attributes[name], texts[name]) for name in asked}


def _request(group: GroupRow, parent: Parent, index: int, item: object) -> NewProcess:
    suffix = f"/{index}"
    # The head start of its parent among what is submitted now.
    seconds = parent.head_start.total_seconds()
    priority = round(seconds / sas.priority_seconds) if sas.priority_seconds else 0
    return NewProcess(
        subject=parent.subject[: LONGEST_SUBJECT - len(suffix)] + suffix,
        input=dialect.document(item),
        lane=parent.lane,
        priority=min(max(priority, 0), HIGHEST_PRIORITY),
        # One that failed is born again, once its first process has ended.
        submission_key=f"{group.key}{suffix}",
        group_id=group.id,
    )


def _undo(carried: Carried, under_way: int) -> None:
    """Take the next processed children to be undone, the last first; end when none is left."""
    group = carried.group
    rows = dialect.fetch(
        "UPDATE workers_child SET state = 'open' WHERE id IN (SELECT id FROM workers_child"
        " WHERE group_id = %s AND state = 'counted' AND outcome = 'processed'"
        ' AND process_id IS NOT NULL ORDER BY "index" DESC LIMIT %s) RETURNING id',
        [group.id, min(max(0, group.at_once - under_way), PORTION)],
    )
    group.processed -= len(rows)
    carried.to_undo = groups.processes(
        group.id, "p.outcome IS NULL AND p.state NOT IN ('compensated', 'cancelled')"
    )
    if under_way + len(rows) == 0:
        counts = {"compensated": group.failed, LASTING: group.processed}
        carried.reply = carried.parent.reply(
            result={name: count for name, count in counts.items() if count} or {"compensated": 0}
        )


def lasting(group_id: int, process_ids: Sequence[int]) -> None:
    """Write that processed children stay as they are: past their point of no return."""
    with durable("child_groups.lasting"):
        groups.lock(group_id)
        dialect.execute(
            f"UPDATE workers_child SET state = 'ended', outcome = '{LASTING}'"
            f" WHERE {dialect.among('process_id')} AND state = 'open'",
            [dialect.id_list(process_ids)],
        )


def _pause(carried: Carried) -> None:
    """Find the children under way to pause with their parent, or to resume with it."""
    group = carried.group
    if carried.parent.is_paused:
        group.is_paused = True
        carried.to_pause = groups.processes(
            group.id, "p.paused_at IS NULL AND p.finished_at IS NULL"
        )
    elif group.is_paused:
        carried.to_resume = groups.processes(group.id, "p.paused_at IS NOT NULL")
        group.is_paused = bool(carried.to_resume)
