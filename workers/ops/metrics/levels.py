"""Gauges of processes, agents, duties, submitters and tables."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, F, Q
from prometheus_client.core import Metric

from workers.definitions import registry
from workers.models import Lease, Process, Sink
from workers.ops import wait_facts
from workers.ops.metrics.gauge import gauge
from workers.states import OPEN_PROCESS_STATES, ProcessState
from workers.store import live_workers
from workers.store.db import dialect
from workers.store.flow import due_steps

Rows = Iterable[tuple[Any, ...]]


def read() -> Iterable[Metric]:
    yield gauge(
        "sas_processes_open", "Processes that are not over", ["workflow", "state"], open_processes()
    )
    yield gauge(
        "sas_steps_due", "Steps that workers may call now, had they room", ["agent"], _due()
    )
    yield gauge("sas_room", "Calls that live workers can make at once", ["agent"], _room())
    yield gauge("sas_duty_age_seconds", "Time since a duty was last performed", ["duty"], _ages())
    yield gauge("sas_outbox_undelivered", OUTBOX, ["receiver"], _undelivered())
    # SQLite does not say.
    if connection.vendor == "postgresql":
        yield gauge("sas_table_bytes", "Size of a table with its indexes", ["table"], _sizes())


OUTBOX = "Messages that have not arrived yet"


def open_processes() -> Rows:
    # One query for each partial index: with all states in one, PostgreSQL reads the whole table.
    for states in (Q(state__in=sorted(OPEN_PROCESS_STATES)), Q(state=ProcessState.ERROR)):
        rows = Process.objects.filter(states).order_by().values_list("workflow", "state")
        yield from sorted(rows.annotate(count=Count("pk")))


def _due() -> Rows:
    """Return how many due steps each agent's window, rate, breaker and holds let through now."""
    situation = wait_facts.read()
    facts, now = situation.facts, situation.now
    flows = (facts.flows or {}).items()
    is_held = ("everything", "") in facts.holds
    counts = due_steps.count(
        {
            agent: 0 if is_held or ("agent", agent) in facts.holds else flow.room(now)
            for agent, flow in flows
        },
        now,
    )
    return sorted(counts.items())


def _room() -> Rows:
    alive = live_workers.alive()
    for agent in registry.agents():
        yield agent.name, alive.calling(agent.name, agent.queue) * agent.calls_at_once


def _ages() -> Rows:
    now = dialect.read_clock()
    for lease in Lease.objects.exclude(performed_at=None):
        assert lease.performed_at is not None
        yield lease.name, (now - lease.performed_at) / timedelta(seconds=1)


def _undelivered() -> Rows:
    # It uses the index of what is not delivered yet.
    sinks = Sink.objects.filter(state="open", last__gt=F("cursor")).order_by()
    for kind, count in sinks.values_list("kind").annotate(count=Count("pk")):
        yield f"submitters by {kind}", count


def _sizes() -> Rows:
    """Return the sizes of the tables of the database's current schema (PostgreSQL)."""
    return dialect.fetch(
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = to_regnamespace(current_schema()) ORDER BY relname"
    )
