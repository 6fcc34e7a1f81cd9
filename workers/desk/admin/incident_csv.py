"""The members of an incident as a file."""

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods

from workers.desk.admin import csv_files, csv_lists, masking
from workers.models import Incident

HEADS = ("process", "subject", "message", "raised_at", "times", "ended_at", "worth")


@require_http_methods(["GET", "POST"])
def csv_view(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Send the alerts of an incident, the newest first, as they are read."""
    if not request.user.has_perm("workers.view_incident"):
        raise PermissionDenied
    incident = get_object_or_404(Incident, pk=pk)
    lines = _lines(incident, is_personal=csv_files.is_personal(request))
    detail = {"incident": incident.key, "id": incident.pk}
    return csv_files.answer(request, f"incident-{incident.pk}", HEADS, lines, **detail)


def _lines(incident: Incident, *, is_personal: bool) -> Iterator[list[Any]]:
    rows = incident.alerts.select_related("process").defer("process__input").order_by("-pk")
    last_id: int | None = None
    while alerts := list(
        (rows if last_id is None else rows.filter(pk__lt=last_id))[: csv_files.READ_AT_ONCE]
    ):
        last_id = alerts[-1].pk
        if not is_personal:
            masking.conceal_alerts(alerts)
        for alert in alerts:
            yield [
                alert.process_id or "",
                alert.process.subject if alert.process else "",
                alert.message,
                csv_lists.instant(alert.raised_at),
                alert.times,
                csv_lists.instant(alert.resolved_at),
                alert.money if alert.money is not None else "",
            ]
