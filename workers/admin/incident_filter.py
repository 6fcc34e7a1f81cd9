"""Lists of processes narrowed to the members of an incident."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin.filters import ProcessFilter, among
from workers.definitions.alert_kinds import alert_kind
from workers.models import Alert, Incident


class IncidentFilter(ProcessFilter):
    """The members of one incident whose cause is still so; shown where its page led to it."""

    title = lazy("incident")
    parameter_name = "incident"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        chosen = self.value()
        if not chosen:
            return []
        is_number = chosen.isascii() and chosen.isdigit() and len(chosen) < 19
        incident = Incident.objects.filter(pk=int(chosen)).first() if is_number else None
        if incident is None:
            return [(chosen, _("one that is not there any more"))]
        return [(chosen, alert_kind(incident.code).title_with(incident.params))]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        if not (value.isascii() and value.isdigit() and len(value) < 19):
            return rows.none()
        members = Alert.objects.filter(
            incident_id=int(value), resolved_at=None, process__isnull=False
        )
        return among(rows, self.path, members.order_by().values("process"))
