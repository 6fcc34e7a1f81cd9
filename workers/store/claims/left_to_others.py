"""What is due here that this code does not know and the code of another live worker does."""

from dataclasses import dataclass
from datetime import datetime

from workers.conf import sas
from workers.definitions import known
from workers.store import live_code
from workers.store.db import dialect
from workers.store.flow import due_steps


@dataclass(frozen=True, slots=True)
class WorkForOthers:
    """Who is to look, where something is left to others."""

    #: Queues of agents that have a due step and may be taken for by the process that calls them.
    queues: frozenset[str] = frozenset()
    #: What else is left is a Scheduler's.
    is_for_schedulers: bool = False


def find(now: datetime | None = None) -> WorkForOthers:
    """Return who else has to look.  It asks for the first of those that are due, not for all."""
    others = live_code.known_elsewhere(now)
    if not others:
        return WorkForOthers()
    at, params = dialect.clock(now)
    versions = dialect.id_list(sorted(others.versions))
    flagged = dialect.fetch(
        "SELECT p.id FROM workers_process p WHERE p.needs_decision"
        f" AND {dialect.among(due_steps.VERSION)} ORDER BY p.id LIMIT 1",
        [versions],
    )
    # What is behind so many has to wait for its turn in any case.
    head = f"{due_steps.steps('f.agent', 'c.at')} {due_steps.IN_TURN} LIMIT {int(sas.claim_batch)}"
    agents = dialect.fetch(
        f"SELECT f.agent FROM (SELECT {at} AS at) c CROSS JOIN workers_flow f"
        f" WHERE EXISTS (SELECT 1 FROM (SELECT {due_steps.VERSION} AS version FROM {head}) d"
        f" WHERE {dialect.among('d.version')} OR {dialect.among('f.agent')})",
        [*params, versions, dialect.id_list(sorted(others.agents))],
    )
    names = {name for (name,) in agents}
    queues = known.own().agents | others.agents
    taken = names & (known.own().taking | others.taking)
    return WorkForOthers(frozenset(queues[name] for name in taken), bool(flagged or names - taken))
