"""What stands in error, grouped by cause: one bug that stops thousands is one line."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, F, Max, Min
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from workers.admin.lists import LiveMedia
from workers.models import Process, Step
from workers.states import StepState
from workers.store import sql

MOST = 200


@dataclass(frozen=True, slots=True)
class Cause:
    """Steps in error at one agent of one workflow, for one reason."""

    workflow: str
    step: str
    agent: str
    code: str
    #: What the newest of them says.
    message: str
    count: int
    first: datetime
    last: datetime

    @property
    def url(self) -> str:
        """Return the list of their processes, from where all can be resubmitted."""
        wanted = {
            "workflow": self.workflow,
            "needs": "error",
            "agent": self.agent,
            "fault": self.code,
        }
        return f"{reverse('admin:workers_process_changelist')}?{urlencode(wanted)}"


def causes(limit: int = MOST) -> list[Cause]:
    """Return the causes that hold up most, those first."""
    failed = Step.objects.filter(live__state=StepState.ERROR, process__state="error").order_by()
    grouped = (
        failed.annotate(workflow=F("process__workflow"), code=F("fault__code"))
        .values("workflow", "name", "agent", "code")
        .annotate(count=Count("pk"), first=Min("finished_at"), last=Max("finished_at"))
        .annotate(newest=Max("pk"))
        .order_by("-count", "name")[:limit]
    )
    rows = list(grouped)
    newest = Step.objects.filter(pk__in=[row["newest"] for row in rows])
    messages = dict(newest.values_list("pk", "fault__message"))
    return [
        Cause(
            workflow=row["workflow"],
            step=row["name"],
            agent=row["agent"],
            code=row["code"] or "",
            message=messages.get(row["newest"]) or "",
            count=row["count"],
            first=row["first"],
            last=row["last"],
        )
        for row in rows
    ]


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Answer with the causes; refused without the permission to see processes."""
    if not request.user.has_perm("workers.view_process"):
        raise PermissionDenied
    now = sql.read_clock()
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": _("Causes of errors"),
        "causes": causes(),
        "now": now,
        "server_now": now.isoformat(),
        "media": forms.Media(LiveMedia),
        "opts": Process._meta,
    }
    return TemplateResponse(request, "admin/workers/causes.html", context)
