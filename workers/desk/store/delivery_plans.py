"""Plans what routes are to be told of incidents: one delivery for each notice, once.

A delivery is the record that its route was told.  It is written under the route's lock, in the
transaction that decides it: of two sweeps only one writes it, and a killed one writes all of a
plan or nothing.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from workers.definitions.alert_kinds import IncidentKind, Severity
from workers.desk.models import Delivery, Route
from workers.desk.models.route import RouteKind
from workers.desk.rules import incident_routing as routing
from workers.desk.states import DeliveryEvent, DeliveryState, IncidentState
from workers.desk.store import routes
from workers.desk.store.deliveries import UNDELIVERABLE
from workers.runtime.failpoints import durable
from workers.store import isolation
from workers.store.db import dialect

#: Open incidents that are considered: there is one for each cause, so that more is a flood.
MOST_INCIDENTS = 1000
#: How long after its end an incident is still told as resolved: longer than any quiet hours.
RESOLVED_SECONDS = 7 * 86_400
#: The longest time for which a route's digest gathers.
LONGEST_DIGEST_SECONDS = 7 * 86_400

_INCIDENT = (
    "i.id, i.kind, i.code, i.params, i.severity, i.state, i.reopened, i.opened_at, i.last_at"
)


def plan(now: datetime | None = None) -> int:
    """Write the deliveries that are due to routes now; return how many messages will leave.

    Reads first: mostly there is nothing to write.  Routes locked by another sweep are skipped.
    """
    at = dialect.read_clock(now)
    active = list(Route.objects.filter(is_active=True).order_by("pk"))
    if not active or not _plans(active, at):
        return 0
    with durable("delivery_plans.plan"):
        rows = routes.lock_all(Route.objects.filter(is_active=True))
        return sum(_write(route_id, messages, at) for route_id, messages in _plans(rows, at))


def _plans(active: Sequence[Route], at: datetime) -> list[tuple[int, routing.Plan]]:
    """Return the ids of the routes that are to be told something, with their plans."""
    incidents = _incidents(at)
    if not incidents:
        return []
    past = _past_deliveries(incidents)
    history = _history(at)

    def plan_for(part: Sequence[Route]) -> list[tuple[int, routing.Plan]]:
        plans = []
        for row in part:
            route = _rule(row)
            notices = [
                due
                for incident, about in incidents
                if about != row.pk
                and (due := routing.notice(route, incident, past[row.pk, incident.id], at))
            ]
            messages = routing.plan(route, notices, history.get(row.pk, routing.History()), at)
            if messages.alone or messages.together:
                plans.append((row.pk, messages))
        return plans

    alert = isolation.alerting("route", "plan deliveries to", at)
    parts = isolation.apart(
        active,
        plan_for,
        lambda row, error: alert(row.pk, error),
        name=lambda row: f"route {row.pk}",
    )
    return [plan for plans in parts for plan in plans]


def _rule(row: Route) -> routing.Route:
    return routing.Route(
        row.pk,
        keeps_incidents=row.kind == RouteKind.PAGERDUTY,
        kinds=row.kinds,
        agents=row.agents,
        least_severity=row.least_severity,
        quiet_from=row.quiet_from,
        quiet_to=row.quiet_to,
        time_zone=row.time_zone,
        repeat_seconds=row.repeat_seconds,
        digest_seconds=row.digest_seconds,
        hourly_limit=row.hourly_limit,
        muted_until=row.muted_until,
    )


def _incidents(at: datetime) -> list[tuple[routing.Incident, int | None]]:
    """Return the incidents that routes may have to be told of, the gravest first.

    Each with the id of the route that it is about, if any: that route is not told of it.
    """
    since = dialect.instant_text(at - timedelta(seconds=RESOLVED_SECONDS))
    rows = dialect.fetch(
        f"SELECT {_INCIDENT} FROM desk_incident i WHERE i.resolved_at IS NULL"
        " ORDER BY i.severity, i.opened_at LIMIT %s",
        [MOST_INCIDENTS],
    )
    rows += dialect.fetch(
        f"SELECT {_INCIDENT} FROM desk_incident i"
        " WHERE i.resolved_at > %s"
        " AND EXISTS (SELECT 1 FROM desk_delivery o WHERE o.incident_id = i.id"
        " AND o.reopened = i.reopened AND o.event = 'opened' AND NOT EXISTS (SELECT 1"
        " FROM desk_delivery e WHERE e.incident_id = i.id AND e.route_id = o.route_id"
        " AND e.reopened = i.reopened AND e.event = 'resolved')) ORDER BY i.resolved_at LIMIT %s",
        [since, MOST_INCIDENTS],
    )
    alert = isolation.alerting("incident", "plan deliveries of", at)
    parts = isolation.apart(
        rows,
        lambda part: [_incident(row) for row in part],
        lambda row, error: alert(row[0], error),
        name=lambda row: f"incident {row[0]}",
    )
    return [incident for incidents in parts for incident in incidents]


def _incident(row: Sequence[Any]) -> tuple[routing.Incident, int | None]:
    incident_id, kind, code, document, severity, state, reopened, opened_at, last_at = row
    is_failure = kind == IncidentKind.FAILURE
    params = dialect.document(document)
    incident = routing.Incident(
        incident_id,
        kind,
        str(params.get("about" if kind == IncidentKind.AGENT else "agent") or ""),
        severity,
        is_open=state == IncidentState.OPEN,
        is_acknowledged=state == IncidentState.ACKNOWLEDGED,
        is_resolved=state == IncidentState.RESOLVED,
        reopened=reopened,
        opened_at=dialect.instant(opened_at) if is_failure else None,
        last_at=dialect.instant(last_at) if is_failure else None,
    )
    about = str(params.get("about") or "")
    is_of_route = code == UNDELIVERABLE and about.isdecimal()
    return incident, int(about) if is_of_route else None


def _past_deliveries(
    incidents: Sequence[tuple[routing.Incident, int | None]],
) -> dict[tuple[int, int], list[routing.PastDelivery]]:
    """Return deliveries since an incident opened, or was reopened, by route and incident."""
    reopened = {incident.id: incident.reopened for incident, _about in incidents}
    rows = dialect.fetch(
        "SELECT d.route_id, d.incident_id, d.reopened, d.event, d.at FROM desk_delivery d"
        f" WHERE {dialect.among('d.incident_id')}",
        [dialect.id_list(sorted(reopened))],
    )
    past: dict[tuple[int, int], list[routing.PastDelivery]] = defaultdict(list)
    for route_id, incident_id, number, event, at in rows:
        moment = dialect.instant(at)
        assert moment is not None
        if number == reopened[incident_id]:
            past[route_id, incident_id].append(routing.PastDelivery(event, moment))
    return past


def _history(at: datetime) -> dict[int, routing.History]:
    """Return what routes were told lately: single messages within the hour, the last digest."""
    hour_ago = dialect.instant_text(at - timedelta(seconds=routing.HOUR_SECONDS))
    is_urgent = "i.severity = %s AND d.event IN ('opened', 'repeat')"
    rows = dialect.fetch(
        f"SELECT d.route_id, count(CASE WHEN {is_urgent} AND d.at > %s THEN 1 END),"
        " count(CASE WHEN d.event <> 'digest' AND d.at > %s THEN 1 END),"
        " max(CASE WHEN d.event = 'digest' THEN d.at END) FROM desk_delivery d"
        " LEFT JOIN desk_incident i ON i.id = d.incident_id"
        " WHERE d.at > %s AND d.event <> 'test' AND d.state <> 'gathered' GROUP BY d.route_id",
        [
            *(int(Severity.URGENT), hour_ago, hour_ago),
            dialect.instant_text(at - timedelta(seconds=LONGEST_DIGEST_SECONDS)),
        ],
    )
    return {
        route_id: routing.History(urgent, sent - urgent, dialect.instant(digest_at))
        for route_id, urgent, sent, digest_at in rows
    }


def _write(route_id: int, messages: routing.Plan, at: datetime) -> int:
    """Write the deliveries of a plan, under the route's lock; return how many leave."""
    Delivery.objects.bulk_create([_row(route_id, due, at) for due in messages.alone])
    if messages.together:
        digest = Delivery.objects.create(
            route_id=route_id, event=DeliveryEvent.DIGEST, at=at, next_at=at
        )
        gathered = {"state": DeliveryState.GATHERED, "digest": digest, "ended_at": at}
        Delivery.objects.bulk_create(
            [_row(route_id, due, at, **gathered) for due in messages.together]
        )
    return len(messages.alone) + bool(messages.together)


def _row(route_id: int, due: routing.Notice, at: datetime, **columns: Any) -> Delivery:
    return Delivery(
        route_id=route_id,
        incident_id=due.incident_id,
        event=due.event,
        reopened=due.reopened,
        number=due.number,
        at=at,
        next_at=at,
        **columns,
    )
