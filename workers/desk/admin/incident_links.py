"""Links of an incident: to the lists of its processes, or to the page of its subject."""

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.definitions.alert_kinds import IncidentKind
from workers.desk.admin import subjects
from workers.desk.admin.bulk.kinds import BY_NAME
from workers.desk.admin.bulk.lists import BulkListAdmin
from workers.desk.admin.navigation import Page
from workers.desk.admin.wording import Text
from workers.models import Incident, Process

_DOCTOR = Page("desk_proberesult_changelist", lazy("Doctor"), "desk.view_proberesult")
_PAGES: dict[str, Page] = {
    IncidentKind.AGENT: Page("workers_flow_changelist", lazy("Flow"), "workers.view_flow"),
    IncidentKind.DEFINITION: _DOCTOR,
    IncidentKind.DUTY: _DOCTOR,
    IncidentKind.INSTALLATION: _DOCTOR,
}
#: For kinds with several subjects: pages by the code of their alerts.
_PAGES_BY_CODE = {
    "sink_undeliverable": Page("workers_sink_changelist", lazy("Sinks"), "workers.view_sink"),
    "route_undeliverable": Page(
        "desk_delivery_changelist", lazy("Deliveries"), "desk.view_delivery"
    ),
}


def links(request: HttpRequest, incident: Incident) -> list[tuple[str, Text]]:
    """Return the URLs and names of the pages where an incident can be handled."""
    if is_of_processes(incident):
        return _lists(request, incident)
    page = _PAGES_BY_CODE.get(incident.code) or _PAGES.get(incident.kind)
    line = page and page.line(request)
    return [(line["admin_url"], line["name"])] if line else []


def is_of_processes(incident: Incident) -> bool:
    """Return whether each of its alerts is about a process."""
    return "workflow" in incident.params


def _lists(request: HttpRequest, incident: Incident) -> list[tuple[str, Text]]:
    text = _("Its %(rows)s")
    if incident.resolved_at is None and list_to_resubmit(request) is not None:
        text = _("Resubmit its %(rows)s…")
    return [
        (f"{url}?incident={incident.pk}", text % {"rows": label})
        for url, label in subjects.lists(request.user)
    ]


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
