"""Which steps are due: those that a claim takes in their turn, and behind which others queue."""

from workers.store.db import dialect

#: The order of the index, to its last column: any other has the database read and sort all that
#: wait, however few are taken.
IN_TURN = "ORDER BY l.turn, l.not_before, l.step_id"

#: SQL for the version of the workflow of a process p, as ``known.version_name`` calls it.
VERSION = "(p.workflow || ':' || p.version)"


def steps(agent: str, at: str) -> str:
    """Return the FROM clause for the due steps s of an agent, their index rows l and processes p.

    A pending step is not due while its process is paused or in error, or its name is held: nobody
    may claim it.  Whether another session holds the process, only its lock tells.
    """
    return (
        f"workers_live l JOIN workers_step s ON {dialect.looked_up('s.id', 'l.step_id')}"
        f" JOIN workers_process p ON {dialect.looked_up('p.id', 's.process_id')}"
        f" WHERE l.state = 'pending' AND l.agent = {agent} AND l.not_before <= {at}"
        # The index row finds the step, which itself says what it is.
        " AND s.state = 'pending'"
        " AND p.paused_at IS NULL AND (p.state IN ('pending', 'processing')"
        " OR p.state = 'compensating' AND s.undoes_id IS NOT NULL)"
        " AND NOT EXISTS (SELECT 1 FROM workers_hold h WHERE h.ended_at IS NULL"
        " AND h.kind = 'step' AND h.name = s.name)"
    )


def first(agent: str, at: str, column: str) -> str:
    """Return SQL for a column of the due step of an agent whose turn it is; NULL: none is due.

    In the order of its index: a planner that takes pending steps for frequent would answer EXISTS
    by reading the table from its beginning.
    """
    return f"(SELECT {column} FROM {steps(agent, at)} {IN_TURN} LIMIT 1)"


def is_one(agent: str, at: str) -> str:
    """Return SQL that says whether a step of an agent is due."""
    return f"({first(agent, at, 's.id')} IS NOT NULL)"
