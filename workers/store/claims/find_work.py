"""Find what needs the Scheduler: flagged processes, ones that stand still, and due steps."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from workers.conf import sas
from workers.definitions import known
from workers.definitions.children import CHILDREN
from workers.store import isolation, leases, live_workers, sinks
from workers.store.db import dialect
from workers.store.flow import due_steps

_CHILDREN = f"'{CHILDREN}'"


@dataclass(frozen=True, slots=True)
class Look:
    """What there is to do besides claiming; the code that does it reads it again."""

    has_filed: bool
    has_flagged: bool
    is_poll_due: bool
    #: There is news for a submitter.
    has_untold: bool
    #: A step with children is due, or a child group has to be looked at.
    has_children: bool
    #: A step waits for a place in a key.
    has_blocked: bool


def look(now: datetime | None = None) -> Look:
    """Return what there is to do besides claiming, in one statement: mostly there is nothing.

    Each part matches its index's condition and order, so that the planner does not scan the table
    in the hope of an early match.
    """
    moment, params = dialect.clock(now)
    row = dialect.fetch(
        "SELECT (SELECT s.id FROM workers_step s WHERE s.reply IS NOT NULL"
        " ORDER BY s.id LIMIT 1) IS NOT NULL,"
        " (SELECT p.id FROM workers_process p WHERE p.needs_decision"
        " ORDER BY p.id LIMIT 1) IS NOT NULL,"
        " NOT EXISTS (SELECT 1 FROM workers_lease l WHERE l.name = %s"
        f" AND NOT {leases.due('l.performed_at', 'c.at')}),"
        f" {sinks.HAS_DUE.format(now='c.at')},"
        f" {due_steps.is_one(_CHILDREN, 'c.at')}"
        " OR (SELECT g.id FROM workers_childgroup g WHERE g.is_flagged"
        " ORDER BY g.id LIMIT 1) IS NOT NULL"
        " OR (SELECT k.group_id FROM workers_child k WHERE k.state = 'ended'"
        " AND k.state IN ('open', 'ended') ORDER BY k.group_id LIMIT 1) IS NOT NULL,"
        " (SELECT l.step_id FROM workers_live l WHERE l.state = 'blocked'"
        " ORDER BY l.limit_key LIMIT 1) IS NOT NULL"
        f" FROM (SELECT {moment} AS at) c",
        [leases.POLL, sas.poll_seconds, *params],
    )[0]
    return Look(*map(bool, row))


def flagged(
    limit: int, other_versions: Collection[str] = (), now: datetime | None = None
) -> list[int]:
    """Return processes that are flagged for a decision by the Scheduler.

    Leaves out those of ``other_versions``, which only other workers have, and for a while those
    about which nobody could decide.
    """
    moment, params = dialect.clock(now)
    unusable = isolation.is_at_rest("process", "decide", "p.id", "c.at")
    rows = dialect.fetch(
        # Matches its index's condition: a generic plan could not use that with a parameter.
        f"SELECT p.id FROM (SELECT {moment} AS at) c CROSS JOIN workers_process p"
        f" WHERE p.needs_decision AND NOT {dialect.among(due_steps.VERSION)} AND NOT {unusable}"
        " ORDER BY p.id LIMIT %s",
        [*params, dialect.id_list(sorted(other_versions)), limit],
    )
    return [row[0] for row in rows]


def standing_still(limit: int) -> list[int]:
    """Return open processes in which nothing is pending or processing.

    None should exist; whatever the cause, carrying it on repairs it.  Each call looks at the next
    ``limit`` open processes, so it costs the same however many are open.
    """
    cursor = leases.cursor(leases.POLL)
    portion = dialect.fetch(
        "SELECT p.id, EXISTS (SELECT 1 FROM workers_step s WHERE s.process_id = p.id"
        " AND s.state IN ('pending', 'processing')) FROM workers_process p"
        " WHERE p.state IN ('pending', 'processing', 'compensating') AND p.id > %s"
        " ORDER BY p.id LIMIT %s",
        [cursor, limit],
    )
    leases.set_cursor(leases.POLL, portion[-1][0] if len(portion) == limit else 0)
    return [process_id for process_id, is_moving in portion if not is_moving]


def due_agents(now: datetime | None = None) -> set[str]:
    """Return the agents for which a step is due, whether there is room or not."""
    at, params = dialect.clock(now)
    rows = dialect.fetch(
        f"SELECT f.agent FROM (SELECT {at} AS at) c CROSS JOIN workers_flow f"
        f" WHERE {due_steps.is_one('f.agent', 'c.at')}",
        params,
    )
    return {name for (name,) in rows}


@dataclass(frozen=True, slots=True)
class WorkForOthers:
    """Which other workers have to look for work that is left to them."""

    #: Queues of agents with a due step.
    queues: frozenset[str] = frozenset()
    #: Whether a process waits for a decision.
    is_for_schedulers: bool = False


def left_to_others(now: datetime | None = None) -> WorkForOthers:
    """Return who else has to look.  Reads only the first due steps, not all of them."""
    elsewhere = live_workers.known_elsewhere(now)
    if not elsewhere:
        return WorkForOthers()
    at, params = dialect.clock(now)
    versions = dialect.id_list(sorted(elsewhere.versions))
    flagged = dialect.fetch(
        "SELECT p.id FROM workers_process p WHERE p.needs_decision"
        f" AND {dialect.among(due_steps.VERSION)} ORDER BY p.id LIMIT 1",
        [versions],
    )
    # Steps behind this many have to wait for their turn anyway.
    head = f"{due_steps.steps('f.agent', 'c.at')} {due_steps.IN_TURN} LIMIT {int(sas.claim_batch)}"
    agents = dialect.fetch(
        f"SELECT f.agent FROM (SELECT {at} AS at) c CROSS JOIN workers_flow f"
        f" WHERE EXISTS (SELECT 1 FROM (SELECT {due_steps.VERSION} AS version FROM {head}) d"
        f" WHERE {dialect.among('d.version')} OR {dialect.among('f.agent')})",
        [*params, versions, dialect.id_list(sorted(elsewhere.agents))],
    )
    by_agent = known.own().agents | elsewhere.agents
    queues = frozenset(by_agent[name] for (name,) in agents if name in by_agent)
    return WorkForOthers(queues, bool(flagged))
