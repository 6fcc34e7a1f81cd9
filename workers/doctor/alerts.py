"""Alerts that nobody has acknowledged."""

from collections.abc import Iterable

from django.db.models import Count, Min

from workers.doctor.finding import Finding, ok, warning
from workers.doctor.registry import probe
from workers.models import Alert


@probe("alerts")
def are_acknowledged() -> Iterable[Finding]:
    """Count the open alerts, by code."""
    found = (
        Alert.objects.filter(acknowledged_at=None)
        .values_list("code")
        .annotate(n=Count("pk"), first=Min("raised_at"))
        .order_by("code")
    )
    bad = [
        warning(
            f"{count} open alerts {code}, the first from {first:%Y-%m-%d %H:%M} UTC",
            "Somebody has to look: docs/reference/alerts.md says at what.",
            "Do what it says there, then acknowledge them in the admin.",
        )
        for code, count, first in found
    ]
    yield from bad or [ok("no alert is open")]
