"""How long the desk keeps its rows."""

from datetime import timedelta

from workers.desk.rules.minutes import KEPT
from workers.desk.states import Span
from workers.operate.retention import register
from workers.store.old_rows import OldRows

DELIVERIES = OldRows(
    "desk_delivery",
    # While an incident is open, its deliveries say who knows of it.
    "at < %s AND NOT EXISTS (SELECT 1 FROM desk_incident i"
    " WHERE i.id = desk_delivery.incident_id AND i.resolved_at IS NULL)"
    " AND NOT EXISTS (SELECT 1 FROM desk_delivery g JOIN desk_incident i"
    " ON i.id = g.incident_id WHERE g.digest_id = desk_delivery.id AND i.resolved_at IS NULL)",
    # The deliveries in a digest go before the digest.
    "at, id DESC",
)
JOBS = OldRows(
    "desk_bulkjob",
    "ended_at IS NOT NULL AND ended_at < %s",
    "ended_at",
    parts=(("desk_bulkitem", "job_id"),),
)
INCIDENTS = OldRows(
    "desk_incident",
    # Its alerts and its deliveries go before it: they refer to it.
    "resolved_at < %s AND resolved_at IS NOT NULL AND NOT EXISTS (SELECT 1"
    " FROM workers_alert a WHERE a.group_id = desk_incident.id)"
    " AND NOT EXISTS (SELECT 1 FROM desk_delivery d WHERE d.incident_id = desk_incident.id)",
    "resolved_at",
    parts=(("desk_note", "incident_id"),),
)


def _figures(table: str, span: Span, kept: timedelta) -> OldRows:
    return OldRows(table, f"span = {int(span)} AND at < %s", "at", kept=lambda: kept)


FIGURES = tuple(
    _figures(table, span, kept)
    for table in ("desk_minute", "desk_gauge")
    for span, kept in KEPT.items()
)

register("deliveries", "what routes were told long ago of incidents that are resolved", DELIVERIES)
register("jobs", "jobs that ended long ago", JOBS)
register("figures", "figures of minutes and hours, each as long as its span is kept", *FIGURES)
# After their deliveries and the engine's alerts, which refer to them.
register("incidents", "incidents resolved long ago, with their notes", INCIDENTS)
