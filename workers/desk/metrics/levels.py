"""Gauges of agents, incidents, routes and probes."""

from collections.abc import Callable, Iterable
from typing import Any

from django.db.models import Count
from prometheus_client.core import Metric

from workers.desk.models import Delivery, Incident, ProbeResult
from workers.desk.operate import releases
from workers.desk.rules.minutes import LEVELS_LAST, Level
from workers.desk.states import DeliveryState, Span
from workers.desk.store import gauges
from workers.ops.metrics.gauge import gauge
from workers.ops.metrics.levels import OUTBOX
from workers.states import BreakerState
from workers.store.db import dialect

#: A probe's level as a number, the worst the largest.
LEVELS = ("ok", "info", "warning", "error")
_AGENTS: tuple[tuple[str, str, Callable[[Level], float]], ...] = (
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


def read() -> Iterable[Metric]:
    levels = _levels()
    for name, what, value in _AGENTS:
        yield gauge(name, what, ["agent"], ((level.agent, value(level)) for level in levels))
    yield gauge(
        "sas_probe_level", "What a probe of the doctor found: 0 ok to 3 error", ["probe"], _probes()
    )
    yield gauge(
        "sas_incidents_open", "Incidents that are not resolved", ["kind", "severity"], _incidents()
    )
    yield gauge("sas_outbox_undelivered", OUTBOX, ["receiver"], _undelivered())
    yield gauge("sas_build_info", "The code that answers", ["release"], [(releases.own(), 1)])


def _levels() -> list[Level]:
    """Return the last levels of agents; one without a level for minutes is left out.

    An old figure would mislead.
    """
    now = dialect.read_clock()
    newest = {
        level.agent: level for _, level in gauges.of_span(Span.MINUTE, now - LEVELS_LAST, now)
    }
    return sorted(newest.values(), key=lambda level: level.agent)


def _probes() -> Iterable[tuple[str, int]]:
    for name, level in ProbeResult.objects.values_list("name", "level"):
        yield name, LEVELS.index(level)


def _incidents() -> Iterable[tuple[Any, ...]]:
    rows = Incident.objects.filter(resolved_at=None).order_by()
    return rows.values_list("kind", "severity").annotate(count=Count("pk"))


def _undelivered() -> Iterable[tuple[str, int]]:
    # It uses the index of what is not delivered yet.
    due = Delivery.objects.filter(state=DeliveryState.DUE).order_by()
    for route, count in due.values_list("route__name").annotate(count=Count("pk")):
        yield f"route {route}", count
