"""Invariants of limits per key."""

from workers.definitions import registry
from workers.ops.invariant import Invariant
from workers.states import BLOCKED, FINAL_PROCESS_STATES

_FINAL = ", ".join(f"'{state}'" for state in sorted(FINAL_PROCESS_STATES))

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "key_is_not_overfull",
        "No key has more calls at work than its agent's window.",
        "SELECT p.subject, s.name || ' is one of too many of ' || s.limit_key"
        " FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        " WHERE {some} AND s.state = 'processing' AND s.limit_key IS NOT NULL"
        " AND (SELECT count(*) FROM workers_live o WHERE o.limit_key = s.limit_key"
        " AND o.state = 'processing') > {window}"
        # What operators set may have been more a moment ago.
        " AND NOT EXISTS (SELECT 1 FROM workers_limitedkey k WHERE k.key = s.limit_key"
        ' AND k."window" IS NOT NULL)',
        of="s.process_id",
    ),
    Invariant(
        "exclusive_is_alone",
        "No process began while another of its exclusive key was under way.",
        # By the order of rows: an instant is read before the lock that decides.
        "SELECT p.subject, 'began beside process ' || o.id FROM workers_process p"
        " JOIN workers_process o ON o.exclusive = p.exclusive AND o.id <> p.id"
        " JOIN workers_journal b ON b.process_id = p.id AND b.event = 'started'"
        " JOIN workers_journal a ON a.process_id = o.id AND a.event = 'started' AND a.id < b.id"
        " WHERE {some} AND EXISTS (SELECT 1 FROM workers_journal c"
        " WHERE c.process_id = p.id AND c.event = 'claimed')"
        " AND NOT EXISTS (SELECT 1 FROM workers_journal e WHERE e.process_id = o.id"
        f" AND e.step_id IS NULL AND e.after IN ({_FINAL}) AND e.id < b.id)",
    ),
    Invariant(
        "blocked_key_is_full",
        "No step is blocked while its key has a place that nobody has the turn for.",
        "SELECT p.subject, s.name || ' is blocked by ' || l.limit_key FROM workers_live l"
        " JOIN workers_step s ON s.id = l.step_id JOIN workers_process p ON p.id = s.process_id"
        f" WHERE {{some}} AND l.state = '{BLOCKED}' AND CASE WHEN l.limit_key = p.exclusive"
        " THEN p.state <> 'pending' OR NOT EXISTS (SELECT 1 FROM workers_process h"
        " WHERE h.exclusive = p.exclusive AND (h.state IN ('processing', 'compensating', 'error')"
        " OR h.state = 'pending' AND EXISTS (SELECT 1 FROM workers_step t JOIN workers_live f"
        " ON f.step_id = t.id WHERE t.process_id = h.id AND f.state = 'pending')))"
        " ELSE (SELECT count(*) FROM workers_live o WHERE o.limit_key = l.limit_key"
        " AND o.state IN ('processing', 'pending')) < coalesce((SELECT k.\"window\""
        " FROM workers_limitedkey k WHERE k.key = l.limit_key), {window})"
        # With a rate, one at a time waits for the next token.
        " AND NOT EXISTS (SELECT 1 FROM workers_live o JOIN workers_limitedkey k"
        " ON k.key = o.limit_key WHERE o.limit_key = l.limit_key AND o.state = 'pending'"
        " AND (k.next_at IS NOT NULL OR k.rate_per_second IS NOT NULL)) END",
        of="s.process_id",
    ),
)


def window() -> str:
    """Return SQL for how many calls of a key the agent of a step ``s`` may have at once."""
    windows = [
        f" WHEN {_quoted(agent.name)} THEN {agent.per_key.window}"
        for agent in registry.agents()
        if agent.per_key is not None
    ]
    # An agent that limits nothing has room.
    return f"CASE s.agent{''.join(windows)} ELSE 1000000 END" if windows else "1000000"


def _quoted(name: str) -> str:
    """Return a name as a literal of a statement that has parameters."""
    return "'" + name.replace("'", "''").replace("%", "%%") + "'"
