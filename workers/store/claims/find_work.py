"""Find processes that need the Scheduler: flagged ones, and ones that stand still."""

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
    """What there is to do besides claiming; the code that does it reads it again."""

    has_filed: bool
    has_flagged: bool
    has_lost: bool
    has_rates: bool
    is_poll_due: bool
    #: There is news for a submitter.
    has_untold: bool


def look(now: datetime | None = None) -> Look:
    """Return what there is to do besides claiming, in one statement: mostly there is nothing."""
    return send_look(now)()


def send_look(now: datetime | None = None) -> Callable[[], Look]:
    """Send the statement of ``look``; return a function that reads its answer.

    Each part matches its index's condition and order, so that the planner does not scan the table
    in the hope of an early match.
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


def flagged(limit: int, other_versions: Collection[str] = ()) -> list[int]:
    """Return processes that are flagged for a decision by the Scheduler.

    Leaves out those of ``other_versions``, which only other workers have.
    """
    rows = dialect.fetch(
        # Matches its index's condition: a generic plan could not use that with a parameter.
        "SELECT p.id FROM workers_process p WHERE p.needs_decision"
        f" AND NOT {dialect.among(due_steps.VERSION)} ORDER BY p.id LIMIT %s",
        [dialect.id_list(sorted(other_versions)), limit],
    )
    return [row[0] for row in rows]


def standing_still(limit: int) -> list[int]:
    """Return open processes in which nothing is pending or processing.

    None should exist; whatever the cause, carrying it on repairs it.  Nor should one whose steps
    are missing in the index: this call repairs that (``step_index.mend``).  Each call looks at
    the next ``limit`` open processes, so it costs the same however many are open.
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
    """Say whether a claim has waited for its start beyond its allowance."""
    moment, params = dialect.clock(None)
    return bool(
        dialect.fetch(f"SELECT {_has_lost('c.at')} FROM (SELECT {moment} AS at) c", params)[0][0]
    )


def _has_lost(now: str) -> str:
    """Return SQL that is true if a claim has waited for its start beyond its allowance."""
    source = f"workers_live l JOIN workers_step s ON {dialect.looked_up('s.id', 'l.step_id')}"
    return (
        f"((SELECT s.id FROM {source} WHERE l.look_at < {now} AND s.complete_by IS NULL"
        f" AND s.dispatch_by < {now} ORDER BY l.look_at LIMIT 1) IS NOT NULL)"
    )
