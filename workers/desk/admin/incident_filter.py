"""Lists of processes narrowed to the members of an incident."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin.bulk.kinds import BY_NAME
from workers.desk.admin.bulk.lists import BulkListAdmin
from workers.desk.admin.filters import ProcessFilter, among
from workers.desk.texts import alert_texts
from workers.models import Alert, Incident, Process

STILL_SO = Q(resolved_at=None)


class IncidentFilter(ProcessFilter):
    """The members of one incident; shown when its page linked here.

    Keeps members whose cause persists; of a resolved incident, all members that it had.
    """

    title = lazy("incident")
    parameter_name = "incident"
    asks_first = True

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        chosen = self.value()
        if not chosen:
            return []
        is_number = chosen.isascii() and chosen.isdigit() and len(chosen) < 19
        incident = Incident.objects.filter(pk=int(chosen)).first() if is_number else None
        if incident is None:
            return [(chosen, _("one that is not there any more"))]
        return [(chosen, alert_texts.title(incident.code, incident.params))]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        if not (value.isascii() and value.isdigit() and len(value) < 19):
            return rows.none()
        return members(
            rows, self.path, int(value), STILL_SO | Q(incident__resolved_at__isnull=False)
        )


def members(
    rows: QuerySet[Any], path: str, incident_id: int, condition: Q = STILL_SO
) -> QuerySet[Any]:
    """Keep the rows whose process has alerts of an incident that meet ``condition``."""
    alerts = Alert.objects.filter(condition, incident_id=incident_id, process__isnull=False)
    return among(rows, path, alerts.order_by().values("process"))


def list_to_resubmit(request: HttpRequest) -> BulkListAdmin | None:
    """Return a list in which the user may resubmit, an app's own first; None if there is none."""
    lists = [
        model_admin
        for model_admin in admin.site._registry.values()
        if isinstance(model_admin, BulkListAdmin)
        and model_admin.has_view_permission(request)
        and model_admin.may(request, BY_NAME["resubmit"])
    ]
    return min(lists, key=lambda model_admin: model_admin.model is Process, default=None)
