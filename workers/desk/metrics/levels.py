"""Gauges of agents, duties, incidents, receivers, probes and tables."""

from collections.abc import Callable, Iterable
from datetime import timedelta

from django.db import connection
from django.db.models import Count, F
from prometheus_client.core import GaugeMetricFamily, Metric

from workers.definitions import registry
from workers.desk.models import Delivery, ProbeResult
from workers.desk.operate import releases
from workers.desk.rules.minutes import LEVELS_LAST, Level
from workers.desk.states import DeliveryState, Span
from workers.desk.store import gauges
from workers.models import Incident, Lease, Sink
from workers.states import BreakerState
from workers.store import live_code
from workers.store.db import dialect
from workers.store.flow import due_steps, wait_facts

#: A probe's level as a number, the worst the largest.
LEVELS = ("ok", "info", "warning", "error")


def read() -> Iterable[Metric]:
    yield from _agents()
    yield from _duties()
    yield from _incidents_and_outbox()
    yield from _tables()
    build = GaugeMetricFamily("sas_build_info", "The code that answers", labels=["release"])
    build.add_metric([releases.own()], 1)
    yield build


def _agents() -> Iterable[Metric]:
    """Yield the last levels of agents, and how many calls live workers can make.

    An agent without a level for minutes is left out: an old figure would mislead.
    """
    now = dialect.read_clock()
    newest = {
        level.agent: level for _, level in gauges.of_span(Span.MINUTE, now - LEVELS_LAST, now)
    }
    figures: tuple[tuple[str, str, Callable[[Level], float]], ...] = (
        ("sas_steps_pending", "Steps that are due or rest", lambda level: level.pending),
        ("sas_steps_in_flight", "Steps that are claimed", lambda level: level.in_flight),
        (
            "sas_oldest_pending_seconds",
            "Time that the oldest step that may be claimed has waited",
            lambda level: level.oldest_seconds or 0.0,
        ),
        (
            "sas_breaker_open",
            "1 where the agent's service is not called",
            lambda level: int(level.breaker != BreakerState.CLOSED),
        ),
    )
    for name, what, value in figures:
        family = GaugeMetricFamily(name, what, labels=["agent"])
        for level in sorted(newest.values(), key=lambda level: level.agent):
            family.add_metric([level.agent], value(level))
        yield family
    due = GaugeMetricFamily(
        "sas_steps_due",
        "Steps that workers may call now, had they room",
        labels=["agent"],
    )
    for name, count in sorted(_due().items()):
        due.add_metric([name], count)
    yield due
    alive = live_code.alive()
    room = GaugeMetricFamily(
        "sas_room", "Calls that live workers can make at once", labels=["agent"]
    )
    for agent in registry.agents():
        width = agent.calls_at_once
        room.add_metric([agent.name], alive.calling(agent.name, agent.queue) * width)
    yield room


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


def _duties() -> Iterable[Metric]:
    now = dialect.read_clock()
    ages = GaugeMetricFamily(
        "sas_duty_age_seconds", "Time since a duty was last performed", labels=["duty"]
    )
    for lease in Lease.objects.exclude(performed_at=None):
        assert lease.performed_at is not None
        ages.add_metric([lease.name], (now - lease.performed_at) / timedelta(seconds=1))
    yield ages
    probes = GaugeMetricFamily(
        "sas_probe_level", "What a probe of the doctor found: 0 ok to 3 error", labels=["probe"]
    )
    for name, level in ProbeResult.objects.values_list("name", "level"):
        probes.add_metric([name], LEVELS.index(level))
    yield probes


def _incidents_and_outbox() -> Iterable[Metric]:
    incidents = GaugeMetricFamily(
        "sas_incidents_open", "Incidents that are not resolved", labels=["kind", "severity"]
    )
    rows = Incident.objects.filter(resolved_at=None).order_by()
    for kind, severity, count in rows.values_list("kind", "severity").annotate(count=Count("pk")):
        incidents.add_metric([kind, str(severity)], count)
    yield incidents
    undelivered = GaugeMetricFamily(
        "sas_outbox_undelivered", "Messages that have not arrived yet", labels=["receiver"]
    )
    # Each uses an index of what is not delivered yet.
    sinks = Sink.objects.filter(state="open", last__gt=F("cursor")).order_by()
    routes = Delivery.objects.filter(state=DeliveryState.DUE).order_by()
    for receivers, prefix in (
        (sinks.values_list("kind"), "submitters by "),
        (routes.values_list("route__name"), "route "),
    ):
        for receiver, count in receivers.annotate(count=Count("pk")):
            undelivered.add_metric([f"{prefix}{receiver}"], count)
    yield undelivered


def _tables() -> Iterable[Metric]:
    """Yield the sizes of the tables of the database's current schema (PostgreSQL)."""
    if connection.vendor != "postgresql":
        return
    sizes = GaugeMetricFamily(
        "sas_table_bytes", "Size of a table with its indexes", labels=["table"]
    )
    for name, size in dialect.fetch(
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = to_regnamespace(current_schema()) ORDER BY relname"
    ):
        sizes.add_metric([name], size)
    yield sizes
