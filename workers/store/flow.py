"""How much each agent may have in flight: its flow row is locked while that is counted."""

from collections.abc import Mapping

from workers.store import sql


def ensure(windows: Mapping[str, int]) -> None:
    """Make the flow rows that are missing; existing ones keep their operator's window."""
    for agent, window in sorted(windows.items()):
        sql.execute(
            'INSERT INTO workers_flow (agent, "window") VALUES (%s, %s) ON CONFLICT DO NOTHING',
            [agent, window],
        )


def room(agents: set[str], freed: Mapping[str, int] | None = None) -> dict[str, int]:
    """Lock the agents' flow rows, by name, and return how many claims each may still take.

    ``freed`` counts claims that this transaction ends but has not written yet.  An agent
    without a row has no room: its row is made when its code is deployed.
    """
    if not agents:
        return {}
    names = sql.id_list(sorted(agents))
    windows = sql.fetch(
        f'SELECT t.agent, t."window" FROM workers_flow t WHERE {sql.among("t.agent")}'
        " ORDER BY t.agent " + sql.lock_rows("t"),
        [names],
    )
    in_flight = dict(
        sql.fetch(
            "SELECT agent, count(*) FROM workers_step WHERE state = 'processing' GROUP BY agent"
        )
    )
    freed = freed or {}
    return {
        agent: max(0, window - in_flight.get(agent, 0) + freed.get(agent, 0))
        for agent, window in windows
    }


def backlogged(agents: set[str], at: str) -> set[str]:
    """Return the agents for which a pending step is due at ``at``."""
    return {
        agent
        for agent in sorted(agents)
        if sql.fetch(
            "SELECT 1 FROM workers_step WHERE state = 'pending' AND agent = %s"
            " AND not_before <= %s LIMIT 1",
            [agent, at],
        )
    }
