"""Processes with their children, and theirs: what is erased and appraised as one."""

from collections.abc import Collection

from workers.store.db import dialect


def find(process_ids: Collection[int]) -> list[tuple[int, int]]:
    """Return (process, member): children, theirs, and itself last; also those born again since."""
    # The processes of one child have its key, each its own use of it.
    children = (
        "SELECT f.process_id, c.id, f.depth + 1 FROM f"
        " JOIN workers_step s ON s.process_id = f.id"
        " JOIN workers_childgroup g ON g.step_id = s.id JOIN workers_child k ON k.group_id = g.id"
        " JOIN workers_process c ON c.submission_key = g.key || '/' || k.\"index\""
        " AND c.workflow = g.workflow AND c.group_id = g.id"
    )
    rows = dialect.fetch(
        f"WITH RECURSIVE f(process_id, id, depth) AS (SELECT p.id, p.id, 0 FROM workers_process p"
        f" WHERE {dialect.among('p.id')} UNION ALL {children})"
        " SELECT process_id, id FROM f ORDER BY depth DESC, id",
        [dialect.id_list(sorted(process_ids))],
    )
    return [(process_id, member) for process_id, member in rows]
