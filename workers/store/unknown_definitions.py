"""Raise alerts for steps that wait for a definition that no live worker has."""

from datetime import datetime, timedelta

from workers.definitions import known
from workers.exceptions import UnknownAgent, UnknownWorkflow
from workers.rules.rows import AlertCall
from workers.runtime.failpoints import around
from workers.store import alerts, live_code
from workers.store.db import dialect
from workers.store.flow import due_steps

#: How long a step is due before the alert: a worker may just be restarting.
UNKNOWN_SECONDS = 30.0


@around("unknown_definitions.tell")
def tell(now: datetime | None = None) -> int:
    """Raise an alert for each definition of a due step that no live worker has; return how many.

    Reads only the first step in turn of each agent: a known one does not stay first for long.
    """
    at = dialect.read_clock(now)
    live = live_code.known_to_live(at)
    if not live.is_whole:
        return 0
    everywhere = live.known + known.own()
    instant, params = dialect.clock(at - timedelta(seconds=UNKNOWN_SECONDS))
    version = due_steps.first("f.agent", "c.at", due_steps.VERSION)
    rows = dialect.fetch(
        f"SELECT w.agent, w.version FROM (SELECT f.agent, {version} AS version"
        f" FROM (SELECT {instant} AS at) c CROSS JOIN workers_flow f) w WHERE w.version IS NOT NULL"
        " ORDER BY w.agent",
        params,
    )
    errors: dict[str, UnknownAgent | UnknownWorkflow] = {}
    for agent, name in rows:
        if agent not in everywhere.agents:
            errors[f"agent:{agent}"] = UnknownAgent(agent)
        if name not in everywhere.versions:
            workflow, _, number = name.rpartition(":")
            errors[f"workflow:{name}"] = UnknownWorkflow(workflow, int(number))
    calls = [
        AlertCall(
            cause=f"unknown_definition:{definition}",
            code="unknown_definition",
            params=error.params,
            is_counted=False,
        )
        for definition, error in errors.items()
    ]
    alerts.write(calls, at)
    return len(calls)
