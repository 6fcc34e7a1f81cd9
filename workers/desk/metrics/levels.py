"""Gauges of agents, incidents, routes and probes."""

from collections.abc import Callable, Iterable

from django.db.models import Count
from prometheus_client.core import GaugeMetricFamily, Metric

from workers.desk.models import Delivery, ProbeResult
from workers.desk.operate import releases
from workers.desk.rules.minutes import LEVELS_LAST, Level
from workers.desk.states import DeliveryState, Span
from workers.desk.store import gauges
from workers.models import Incident
from workers.states import BreakerState
from workers.store.db import dialect

#: A probe's level as a number, the worst the largest.
LEVELS = ("ok", "info", "warning", "error")


def read() -> Iterable[Metric]:
    yield from _agents()
    yield _probes()
    yield _incidents()
    yield _deliveries()
    build = GaugeMetricFamily("sas_build_info", "The code that answers", labels=["release"])
    build.add_metric([releases.own()], 1)
    yield build


def _agents() -> Iterable[Metric]:
    """Yield the last levels of agents.

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


def _probes() -> Metric:
    probes = GaugeMetricFamily(
        "sas_probe_level", "What a probe of the doctor found: 0 ok to 3 error", labels=["probe"]
    )
    for name, level in ProbeResult.objects.values_list("name", "level"):
        probes.add_metric([name], LEVELS.index(level))
    return probes


def _incidents() -> Metric:
    incidents = GaugeMetricFamily(
        "sas_incidents_open", "Incidents that are not resolved", labels=["kind", "severity"]
    )
    rows = Incident.objects.filter(resolved_at=None).order_by()
    for kind, severity, count in rows.values_list("kind", "severity").annotate(count=Count("pk")):
        incidents.add_metric([kind, str(severity)], count)
    return incidents


def _deliveries() -> Metric:
    undelivered = GaugeMetricFamily(
        "sas_outbox_undelivered", "Messages that have not arrived yet", labels=["receiver"]
    )
    # It uses the index of what is not delivered yet.
    due = Delivery.objects.filter(state=DeliveryState.DUE).order_by()
    for route, count in due.values_list("route__name").annotate(count=Count("pk")):
        undelivered.add_metric([f"route {route}"], count)
    return undelivered
