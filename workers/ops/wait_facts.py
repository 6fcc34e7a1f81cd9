"""Read the facts that explain waits, in one statement for a whole page of rows."""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from workers.conf import sas
from workers.definitions import registry
from workers.definitions.children import CHILDREN
from workers.exceptions import UnknownAgent
from workers.models import Process
from workers.rules.breaker import Breaker
from workers.rules.lateness import is_overdue
from workers.rules.limit_keys import Blocked
from workers.rules.masks import UNKNOWN, Mask
from workers.rules.rate_limit import Bucket
from workers.rules.room import room_left
from workers.store import key_places, leases, live_workers, personal_data
from workers.store.db import dialect
from workers.store.flow import flow_control

#: The most steps to count before another; this number means "or more".
MOST_BEFORE = 1000


@dataclass(frozen=True, slots=True)
class Note:
    """Who holds or pauses something, and why."""

    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class AgentFlow:
    """How much one agent may have in flight, and how much it has."""

    window: int
    in_flight: int = 0
    breaker: Breaker = field(default_factory=Breaker)
    #: None: no rate is set.
    bucket: Bucket | None = None
    #: Calls that all live workers can make at once; None: not read.
    capacity: int | None = None
    #: The most outstanding answers of deferred calls; None: no limit.
    deferred_window: int | None = None
    outstanding: int = 0

    def room(self, now: datetime) -> int:
        """Return how many more calls its service may get."""
        bucket = self.bucket and self.bucket.refilled(now)
        return room_left(replace(self, bucket=bucket), now)


@dataclass(frozen=True, slots=True)
class Duty:
    """A periodic duty: when it was last performed, and how often it should be."""

    interval: float
    #: None: never.
    performed_at: datetime | None

    def is_late(self, now: datetime) -> bool:
        if self.performed_at is None:
            return True
        seconds = (now - self.performed_at).total_seconds()
        return is_overdue(seconds, self.interval)


@dataclass(frozen=True, slots=True)
class ChildCounts:
    """The children of a step, by what has become of them."""

    #: The id of their group.
    group: int
    #: None: it is not known yet how many there will be.
    total: int | None
    processed: int
    failed: int
    under_way: int
    #: How many of those under way are in error.
    in_error: int
    is_undoing: bool
    at_once: int


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the whole system that tell why a ready step is not at work."""

    #: Operators' holds, by (kind, name); None: the reader may not see who holds it and why.
    holds: Mapping[tuple[str, str], Note | None] = field(default_factory=dict)
    #: By agent; None: not read.
    flows: Mapping[str, AgentFlow] | None = None
    #: None: not read.
    poll: Duty | None = None
    sweep: Duty | None = None
    #: Definitions that workers needed and did not have: ``agent:NAME``, ``workflow:NAME:VERSION``.
    unknown: Set[str] = frozenset()
    #: The agents in the code of this system process; None: not read.
    agents: Set[str] | None = None
    #: Who paused a process, by its id.
    pauses: Mapping[int, Note] = field(default_factory=dict)
    #: By id of a pending step, how many steps come before it; ``MOST_BEFORE`` at most.
    before: Mapping[int, int] = field(default_factory=dict)
    #: By id of a step that is a list of children.
    children: Mapping[int, ChildCounts] = field(default_factory=dict)
    #: By id of a blocked step, who has the places of its key.
    blocked: Mapping[int, Blocked] = field(default_factory=dict)

    def without_names(self) -> "Facts":
        """Return the facts for submitters: without operators' words, and others' processes."""
        blocked = {
            step_id: replace(wait, holder=None, holder_state=None)
            for step_id, wait in self.blocked.items()
        }
        return replace(self, holds=dict.fromkeys(self.holds), pauses={}, blocked=blocked)


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts about the whole system at one instant of the database's clock."""

    now: datetime
    facts: Facts


def read(
    processes: Collection[Process] = (),
    now: datetime | None = None,
    masks: Mapping[int | None, Mask] | None = None,
) -> Situation:
    """Read the current facts, who paused those of ``processes`` that are paused, and who has the
    places for which they are blocked.

    Masks the reasons that people gave: for a pause by the process's mask, unless ``masks`` has
    another.
    """
    moment, params = dialect.clock(now)
    ids = [process.pk for process in processes]
    limited = [process.pk for process in processes if process.limit_values is not None]
    flows = dialect.list_of(
        *("f.agent", 'f."window"', "f.unavailable_streak", "f.opened_at", "f.open_until"),
        *("f.forced", "f.rate_per_second", "f.tokens", "f.refilled_at"),
        *(flow_control.IN_FLIGHT, "f.deferred_window", flow_control.OUTSTANDING),
    )
    holds = dialect.list_of("h.kind", "h.name", "h.began_by", "h.reason")
    duties = dialect.list_of("d.name", "d.performed_at")
    unknown, workers = dialect.list_of("u.what"), live_workers.document(moment)
    row = dialect.fetch(
        f"SELECT {moment}, (SELECT {flows} FROM workers_flow f),"
        f" (SELECT {holds} FROM workers_hold h WHERE h.ended_at IS NULL),"
        f" (SELECT {duties} FROM workers_lease d WHERE d.name IN (%s, %s)),"
        f" (SELECT {unknown} FROM (SELECT DISTINCT CASE WHEN a.process_id IS NULL THEN a.cause"
        " ELSE 'unknown_definition:workflow:' || p.workflow || ':' || p.version END AS what"
        " FROM workers_alert a LEFT JOIN workers_process p ON p.id = a.process_id"
        " WHERE a.code = 'unknown_definition' AND a.resolved_at IS NULL) u),"
        f" {workers}, {_before(moment)}",
        # For the first column, and the last two.
        [*params, leases.POLL, leases.SWEEP, *params * 2, dialect.id_list(ids)],
    )[0]
    served = live_workers.read(row[5])
    at = dialect.instant(row[0])
    assert at is not None
    performed = {name: dialect.instant(at_text) for name, at_text in dialect.document(row[3]) or ()}
    return Situation(
        at,
        Facts(
            holds={
                (k, name): Note(by, UNKNOWN.text(why))
                for k, name, by, why in dialect.document(row[2]) or ()
            },
            flows={line[0]: _flow(line, served) for line in dialect.document(row[1]) or ()},
            poll=Duty(sas.poll_seconds, performed.get(leases.POLL)),
            sweep=Duty(sas.sweep_seconds, performed.get(leases.SWEEP)),
            unknown={cause.partition(":")[2] for (cause,) in dialect.document(row[4]) or ()},
            agents={agent.name for agent in registry.agents()},
            pauses=_pauses([p.pk for p in processes if p.paused_at is not None], masks),
            before=dict(dialect.document(row[6]) or ()),
            children=children_of(processes),
            blocked=key_places.waits(limited, MOST_BEFORE, now) if limited else {},
        ),
    )


def _flow(row: list[Any], served: live_workers.LiveWorkers) -> AgentFlow:
    agent, window, streak, opened_at, open_until, forced, *rated = row
    rate, tokens, refilled_at, in_flight, deferred_window, outstanding = rated
    breaker = Breaker(streak, dialect.instant(opened_at), dialect.instant(open_until), forced)
    bucket = None if rate is None else Bucket(rate, tokens, dialect.instant(refilled_at))
    return AgentFlow(
        window, in_flight, breaker, bucket, _capacity(agent, served), deferred_window, outstanding
    )


def _capacity(name: str, served: live_workers.LiveWorkers) -> int | None:
    """Return how many calls of an agent all live workers can make at once; None: unknown agent.

    Counts only workers that know the agent.
    """
    try:
        agent = registry.agent(name)
    except UnknownAgent:
        return None
    assumed = live_workers.assumed_processes
    return agent.calls_at_once * (served.calling(name, agent.queue) if assumed is None else assumed)


def _before(at: str) -> str:
    """Return SQL for how many steps of the same agent come before each pending one.

    Its parameters are those of ``at``, and the processes of the steps.
    """
    ahead = (
        "SELECT 1 FROM workers_live o WHERE o.state = 'pending' AND o.agent = l.agent"
        f" AND o.turn < l.turn AND o.not_before <= {at} LIMIT {MOST_BEFORE}"
    )
    pairs = dialect.list_of("t.id", f"(SELECT count(*) FROM ({ahead}) a)")
    return (
        f"(SELECT {pairs} FROM {dialect.of_each('workers_step', 'process_id')}"
        " JOIN workers_live l ON l.step_id = t.id WHERE t.state = 'pending')"
    )


def children_of(processes: Iterable[Process]) -> dict[int, ChildCounts]:
    """Count the children of processes that were read with their steps, by the step's id.

    Without a step with children, sends no statement.
    """
    step_ids = [
        step.pk
        for process in processes
        if "steps" in getattr(process, "_prefetched_objects_cache", {})
        for step in process.steps.all()
        if step.agent == CHILDREN
    ]
    if not step_ids:
        return {}
    rows = dialect.fetch(
        "SELECT g.step_id, g.id, g.total, g.processed, g.failed, count(k.id),"
        " count(CASE WHEN p.state = 'error' THEN 1 END), g.is_undoing, g.at_once"
        " FROM workers_childgroup g LEFT JOIN workers_child k ON k.group_id = g.id"
        " AND k.state IN ('open', 'ended') LEFT JOIN workers_process p ON p.id = k.process_id"
        f" WHERE {dialect.among('g.step_id')} GROUP BY g.id ORDER BY g.id",
        [dialect.id_list(step_ids)],
    )
    return {
        step_id: ChildCounts(group, total, done, failed, open_, in_error, bool(is_undoing), at_once)
        for step_id, group, total, done, failed, open_, in_error, is_undoing, at_once in rows
    }


def _pauses(ids: list[int], masks: Mapping[int | None, Mask] | None) -> dict[int, Note]:
    """Return who last paused each process, and why; without ids, sends no statement."""
    if not ids:
        return {}
    masks = personal_data.of_processes(ids) if masks is None else masks
    rows = dialect.fetch(
        "SELECT t.process_id, t.actor, t.detail FROM "
        + dialect.of_each("workers_journal", "process_id")
        + " WHERE t.event = 'paused' ORDER BY t.id",
        [dialect.id_list(ids)],
    )
    return {
        process_id: Note(
            actor, masks[process_id].text((dialect.document(detail) or {}).get("reason") or "")
        )
        for process_id, actor, detail in rows
    }
