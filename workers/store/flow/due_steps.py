"""SQL for due steps: claimed in their turn, and queued behind by new ones."""

from collections.abc import Mapping
from datetime import datetime

from workers.store.db import dialect

#: The order of the index, to its last column: with any other, the database would read and sort all
#: waiting steps, however few are claimed.
IN_TURN = "ORDER BY l.turn, l.not_before, l.step_id"

#: SQL for the workflow version of a process p, in the format of ``known.version_name``.
VERSION = "(p.workflow || ':' || p.version)"


def steps(agent: str, at: str) -> str:
    """Return the FROM clause for the due steps s of an agent, their index rows l and processes p.

    A pending step is not due while its process is paused or in error, or its name is held.  Only
    locking the process tells whether another session holds it.
    """
    return (
        f"workers_live l JOIN workers_step s ON {dialect.looked_up('s.id', 'l.step_id')}"
        f" JOIN workers_process p ON {dialect.looked_up('p.id', 's.process_id')}"
        f" WHERE l.state = 'pending' AND l.agent = {agent} AND l.not_before <= {at}"
        # The index row only finds the step; the state in its own row decides.
        " AND s.state = 'pending'"
        " AND p.paused_at IS NULL AND (p.state IN ('pending', 'processing')"
        " OR p.state = 'compensating' AND s.undoes_id IS NOT NULL)"
        " AND NOT EXISTS (SELECT 1 FROM workers_hold h WHERE h.ended_at IS NULL"
        " AND h.kind = 'step' AND h.name = s.name)"
    )


def first(agent: str, at: str, column: str) -> str:
    """Return SQL for a column of the agent's first due step; NULL: none is due.

    Reads in the order of the index: for EXISTS, a planner that expects many pending steps would
    scan the table from its beginning.
    """
    return f"(SELECT {column} FROM {steps(agent, at)} {IN_TURN} LIMIT 1)"


def is_one(agent: str, at: str) -> str:
    """Return SQL that is true if a step of an agent is due."""
    return f"({first(agent, at, 's.id')} IS NOT NULL)"


def count(most: Mapping[str, int], at: datetime) -> dict[str, int]:
    """Return how many steps of each agent are due; of none more than ``most`` says."""
    if not any(most.values()):
        return dict.fromkeys(most, 0)
    moment, params = dialect.typed("instant", at)
    rows = dialect.fetch(
        "SELECT v.agent, (SELECT count(*) FROM ("
        f"SELECT 1 FROM {steps('v.agent', moment)} {IN_TURN} LIMIT %s) d)"
        f" FROM {dialect.rows_as('v', {'agent': 'text'})}",
        [*params, max(most.values()), dialect.encode([{"agent": agent} for agent in most])],
    )
    return {agent: min(due, most[agent]) for agent, due in rows}
