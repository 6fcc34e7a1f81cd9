"""Raise alerts for vanished workers, and for queues with work that no worker serves."""

from collections.abc import Mapping, Set
from datetime import datetime, timedelta

from workers.definitions import known
from workers.exceptions import UnknownAgent, UnknownWorkflow
from workers.rules.rows import AlertCall
from workers.runtime import timestamps
from workers.runtime.failpoints import around
from workers.store import alerts, live_workers
from workers.store.db import dialect
from workers.store.flow import due_steps

#: How long a step waits for an unserved queue before the alert.
UNSERVED_SECONDS = 10.0


@around("worker_alerts.tell")
def tell(agents: Mapping[str, Set[str]], now: datetime | None = None) -> int:
    """Raise an alert for each vanished worker and each unserved queue; return how many.

    ``agents`` has the agents of each queue.  A worker counts as vanished while its row exists and
    it does not report; a queue counts as unserved while a due step waits for one of its agents.
    """
    at = dialect.read_clock(now)
    calls = [*_vanished(at), *_unserved(agents, at)]
    alerts.write(calls, at)
    return len(calls)


def _vanished(at: datetime) -> list[AlertCall]:
    latest = dialect.instant_text(at - timedelta(seconds=live_workers.SEEN_SECONDS))
    rows = dialect.fetch(
        "SELECT w.run, w.name, w.seen_at FROM workers_worker w WHERE w.seen_at <= %s"
        " ORDER BY w.run",
        [latest],
    )
    return [
        AlertCall(
            cause=f"worker_vanished:{run}",
            code="worker_vanished",
            params={"worker": name, "seen_at": timestamps.text_of(instant)},
            is_counted=False,
        )
        for run, name, seen_at in rows
        if (instant := dialect.instant(seen_at)) is not None
    ]


def _unserved(agents: Mapping[str, Set[str]], at: datetime) -> list[AlertCall]:
    if live_workers.assumed_processes is not None:
        return []
    served = live_workers.alive(at)
    latest = dialect.instant_text(at - timedelta(seconds=UNSERVED_SECONDS))
    return [
        AlertCall(
            cause=f"queue_unserved:{queue}",
            code="queue_unserved",
            params={"queue": queue},
            is_counted=False,
        )
        for queue, names in sorted(agents.items())
        if not served.serving(queue)
        and dialect.fetch(
            "SELECT 1 FROM workers_live l WHERE l.state = 'pending' AND l.not_before < %s"
            f" AND {dialect.among('l.agent')} LIMIT 1",
            [latest, dialect.id_list(sorted(names))],
        )
    ]


#: How long a step is due before the alert: a worker may just be restarting.
UNKNOWN_SECONDS = 30.0


@around("worker_alerts.tell_unknown_definitions")
def tell_unknown_definitions(now: datetime | None = None) -> int:
    """Raise an alert for each definition of a due step that no live worker has; return how many.

    Reads only the first step in turn of each agent: a known one does not stay first for long.
    """
    at = dialect.read_clock(now)
    live = live_workers.known_to_live(at)
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
