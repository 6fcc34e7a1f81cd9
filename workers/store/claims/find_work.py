"""Finding processes that need the Scheduler: flagged ones, and ones that stand still."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from workers.conf import sas
from workers.store import leases, sinks
from workers.store.db import dialect
from workers.store.flow import due_steps
from workers.store.locked import step_index


@dataclass(frozen=True, slots=True)
class Look:
    """What there is to do besides claiming; each is asked again by whoever does it."""

    has_filed: bool
    has_flagged: bool
    has_lost: bool
    has_rates: bool
    is_poll_due: bool
    #: Somebody is to be told of something.
    has_untold: bool


def look(now: datetime | None = None) -> Look:
    """Return what there is to do besides claiming: one statement, for mostly there is nothing."""
    return send_look(now)()


def send_look(now: datetime | None = None) -> Callable[[], Look]:
    """Send the statement of ``look``; return how to read what it found.

    Each part is put as its index has it, and in the index's order where it has one, so that the
    planner need not hope to meet a row soon in the table.
    """
    moment, params = dialect.clock(now)
    answer = dialect.send(
        "SELECT (SELECT s.id FROM workers_step s WHERE s.reply IS NOT NULL"
        " ORDER BY s.id LIMIT 1) IS NOT NULL,"
        " (SELECT p.id FROM workers_process p WHERE p.needs_decision"
        " ORDER BY p.id LIMIT 1) IS NOT NULL,"
        f" {_has_lost('c.at')},"
        " EXISTS (SELECT 1 FROM workers_flow f WHERE f.rate_per_second IS NOT NULL),"
        " NOT EXISTS (SELECT 1 FROM workers_lease l WHERE l.name = %s"
        f" AND NOT {leases.due('l.performed_at', 'c.at')}),"
        f" {sinks.HAS_DUE.format(now='c.at')}"
        f" FROM (SELECT {moment} AS at) c",
        [leases.POLL, sas.poll_seconds, *params],
    )
    return lambda: Look(*(bool(value) for value in answer()[0]))


def flagged(limit: int, others: Collection[str] = ()) -> list[int]:
    """Return processes of which something was left for the Scheduler to decide.

    Those of the versions ``others``, which only others know, are left to them.
    """
    rows = dialect.fetch(
        # As its index has it: a plan for any value could not use that.
        "SELECT p.id FROM workers_process p WHERE p.needs_decision"
        f" AND NOT {dialect.among(due_steps.VERSION)} ORDER BY p.id LIMIT %s",
        [dialect.id_list(sorted(others)), limit],
    )
    return [row[0] for row in rows]


def standing_still(limit: int) -> list[int]:
    """Return open processes in which nothing is pending or processing.

    None should exist; whatever made one, carrying it on mends it.  Nor should one whose steps
    cannot be found: that is mended here (``step_index.mend``).  Each call looks at the
    next ``limit`` open processes, so that a call costs the same however many are open.
    """
    cursor = leases.cursor(leases.POLL)
    portion = dialect.fetch(
        "SELECT p.id, EXISTS (SELECT 1 FROM workers_step s WHERE s.process_id = p.id"
        " AND s.state IN ('pending', 'processing')) FROM workers_process p"
        " WHERE p.state IN ('pending', 'processing', 'compensating') AND p.id > %s"
        " ORDER BY p.id LIMIT %s",
        [cursor, limit],
    )
    step_index.mend([process_id for process_id, _ in portion])
    leases.set_cursor(leases.POLL, portion[-1][0] if len(portion) == limit else 0)
    return [process_id for process_id, is_moving in portion if not is_moving]


def has_lost() -> bool:
    """Say whether a claim waits for its start beyond its allowance."""
    moment, params = dialect.clock(None)
    return bool(
        dialect.fetch(f"SELECT {_has_lost('c.at')} FROM (SELECT {moment} AS at) c", params)[0][0]
    )


def _has_lost(now: str) -> str:
    """Return SQL that says whether a claim waits for its start beyond its allowance."""
    lost = f"workers_live l JOIN workers_step s ON {dialect.looked_up('s.id', 'l.step_id')}"
    return (
        f"((SELECT s.id FROM {lost} WHERE l.look_at < {now} AND s.complete_by IS NULL"
        f" AND s.dispatch_by < {now} ORDER BY l.look_at LIMIT 1) IS NOT NULL)"
    )
