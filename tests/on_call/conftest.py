"""Incidents, the routes that are told of them, and what they were told."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from tests.factories import AlertFactory
from workers.desk.models import Delivery, Incident, Route
from workers.models import Alert

NOW = timezone.now()
#: When what is told now happened: so long ago that no more of it is waited for.
BEFORE = NOW - timedelta(minutes=1)
SECRET = "whsec_" + "c2VjcmV0" * 4


def incident(key: str = "a", *, at: datetime = BEFORE, **columns: Any) -> Incident:
    """Return an open incident: payments that fail."""
    params = {
        "workflow": "fulfilment",
        "step": "charge",
        "agent": "payment.charge",
        "fault": "permanent",
        "fault_code": "http_400",
        "message": "answered …",
    }
    columns = {"kind": "failure", "code": "process_error", "params": params, **columns}
    columns = {"severity": 2, "members": 3, "total": 3, **columns}
    return Incident.objects.create(key=key, opened_at=at, last_at=at, **columns)


def route(name: str = "mail", kind: str = "mail", **columns: Any) -> Route:
    address = "ops@example.org" if kind == "mail" else "https://hooks.example/secret"
    columns = {"address": address, "secret": SECRET, "time_zone": "UTC", **columns}
    return Route.objects.create(name=name, kind=kind, **columns)


def events(of: Route) -> list[str]:
    """Return what a route was told, in order."""
    return list(Delivery.objects.filter(route=of).order_by("pk").values_list("event", flat=True))


def rows() -> list[dict[str, Any]]:
    return list(Delivery.objects.order_by("pk").values())


def resolve(row: Incident, at: datetime = NOW) -> None:
    Incident.objects.filter(pk=row.pk).update(state="resolved", resolved_at=at, members=0)


def member(row: Incident) -> Alert:
    """Give an incident an alert: the sweep resolves one that has none."""
    columns = {"code": row.code, "message": "no", "raised_at": NOW, "last_raised_at": NOW}
    return AlertFactory(cause=f"{row.code}:{row.key}", group_id=row.pk, **columns)
