"""Finding processes that need the Scheduler: flagged ones, and ones that stand still."""

from workers.store import leases, sql


def flagged(limit: int) -> list[int]:
    """Return processes of which a step left its policy to the Scheduler."""
    found = sql.fetch(
        # As its index has it: a plan for any value could not use that.
        "SELECT id FROM workers_process WHERE needs_decision ORDER BY id LIMIT %s",
        [limit],
    )
    return [row[0] for row in found]


def standing_still(limit: int) -> list[int]:
    """Return open processes in which nothing is pending or processing.

    None should exist; whatever made one, carrying it on mends it.  Each call looks at the
    next ``limit`` open processes, so that a call costs the same however many are open.
    """
    cursor = leases.cursor(leases.POLL)
    portion = sql.fetch(
        "SELECT p.id, EXISTS (SELECT 1 FROM workers_step s WHERE s.process_id = p.id"
        " AND s.state IN ('pending', 'processing')) FROM workers_process p"
        " WHERE p.state IN ('pending', 'processing', 'compensating') AND p.id > %s"
        " ORDER BY p.id LIMIT %s",
        [cursor, limit],
    )
    leases.set_cursor(leases.POLL, portion[-1][0] if len(portion) == limit else 0)
    return [process_id for process_id, is_moving in portion if not is_moving]


def has_lost() -> bool:
    """Say whether a claim waits for its start beyond its allowance."""
    moment, params = sql.clock(None)
    return bool(
        sql.fetch(
            "SELECT 1 FROM workers_step WHERE state = 'processing' AND complete_by IS NULL"
            f" AND dispatch_by < {moment} LIMIT 1",
            params,
        )
    )
