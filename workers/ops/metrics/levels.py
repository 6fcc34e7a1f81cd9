"""Gauges of processes, agents, duties, submitters and tables."""

from collections.abc import Iterable
from datetime import timedelta

from django.db import connection
from django.db.models import Count, F, Q
from prometheus_client.core import GaugeMetricFamily, Metric

from workers.definitions import registry
from workers.models import Lease, Process, Sink
from workers.ops import wait_facts
from workers.states import OPEN_PROCESS_STATES, ProcessState
from workers.store import live_code
from workers.store.db import dialect
from workers.store.flow import due_steps


def read() -> Iterable[Metric]:
    yield open_processes()
    yield _due_steps()
    yield _room()
    yield _duties()
    yield _outbox()
    # SQLite does not say.
    if connection.vendor == "postgresql":
        yield _tables()


def open_processes() -> Metric:
    open_now = GaugeMetricFamily(
        "sas_processes_open", "Processes that are not over", labels=["workflow", "state"]
    )
    # One query for each partial index: with all states in one, PostgreSQL reads the whole table.
    for states in (Q(state__in=sorted(OPEN_PROCESS_STATES)), Q(state=ProcessState.ERROR)):
        rows = Process.objects.filter(states).order_by().values_list("workflow", "state")
        for workflow, state, count in sorted(rows.annotate(count=Count("pk"))):
            open_now.add_metric([workflow, state], count)
    return open_now


def _due_steps() -> Metric:
    due = GaugeMetricFamily(
        "sas_steps_due",
        "Steps that workers may call now, had they room",
        labels=["agent"],
    )
    for name, count in sorted(_due().items()):
        due.add_metric([name], count)
    return due


def _due() -> dict[str, int]:
    """Return how many due steps each agent's window, rate, breaker and holds let through now."""
    situation = wait_facts.read()
    facts, now = situation.facts, situation.now
    flows = (facts.flows or {}).items()
    is_held = ("everything", "") in facts.holds
    return due_steps.count(
        {
            agent: 0 if is_held or ("agent", agent) in facts.holds else flow.room(now)
            for agent, flow in flows
        },
        now,
    )


def _room() -> Metric:
    alive = live_code.alive()
    room = GaugeMetricFamily(
        "sas_room", "Calls that live workers can make at once", labels=["agent"]
    )
    for agent in registry.agents():
        width = agent.calls_at_once
        room.add_metric([agent.name], alive.calling(agent.name, agent.queue) * width)
    return room


def _duties() -> Metric:
    now = dialect.read_clock()
    ages = GaugeMetricFamily(
        "sas_duty_age_seconds", "Time since a duty was last performed", labels=["duty"]
    )
    for lease in Lease.objects.exclude(performed_at=None):
        assert lease.performed_at is not None
        ages.add_metric([lease.name], (now - lease.performed_at) / timedelta(seconds=1))
    return ages


def _outbox() -> Metric:
    undelivered = GaugeMetricFamily(
        "sas_outbox_undelivered", "Messages that have not arrived yet", labels=["receiver"]
    )
    # It uses the index of what is not delivered yet.
    sinks = Sink.objects.filter(state="open", last__gt=F("cursor")).order_by()
    for kind, count in sinks.values_list("kind").annotate(count=Count("pk")):
        undelivered.add_metric([f"submitters by {kind}"], count)
    return undelivered


def _tables() -> Metric:
    """Return the sizes of the tables of the database's current schema (PostgreSQL)."""
    sizes = GaugeMetricFamily(
        "sas_table_bytes", "Size of a table with its indexes", labels=["table"]
    )
    for name, size in dialect.fetch(
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = to_regnamespace(current_schema()) ORDER BY relname"
    ):
        sizes.add_metric([name], size)
    return sizes
