"""Find due work that this code does not know but that of another live worker does."""

from dataclasses import dataclass
from datetime import datetime

from workers.conf import sas
from workers.definitions import known
from workers.store import live_code
from workers.store.db import dialect
from workers.store.flow import due_steps


@dataclass(frozen=True, slots=True)
class WorkForOthers:
    """Which other workers have to look for work that is left to them."""

    #: Queues of agents with a due step.
    queues: frozenset[str] = frozenset()
    #: Whether a process waits for a decision.
    is_for_schedulers: bool = False


def find(now: datetime | None = None) -> WorkForOthers:
    """Return who else has to look.  Reads only the first due steps, not all of them."""
    elsewhere = live_code.known_elsewhere(now)
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
