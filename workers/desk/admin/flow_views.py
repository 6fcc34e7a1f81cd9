"""Setting what an agent may have in flight, how fast, and its breaker by force."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from workers.client import operations
from workers.desk.admin import summaries, timeline
from workers.desk.admin.actions.action import ReasonForm
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.lists import LiveMedia
from workers.exceptions import StateError
from workers.models import Flow
from workers.runtime.failpoints import durable
from workers.store.db import dialect
from workers.store.flow import flow_settings

PERMISSION = "workers.operate_flow"
FORCED = (
    ("", lazy("Neither: it decides itself")),
    ("open", lazy("Open: nothing is claimed for this agent")),
    ("closed", lazy("Closed: claims pass, whatever it has seen")),
)


class FlowForm(ReasonForm):
    window = forms.IntegerField(
        label=lazy("Window"),
        min_value=0,
        max_value=flow_settings.MAX_WINDOW,
        help_text=lazy("Requests in flight at most. 0: none is sent."),
    )
    rate_per_second = forms.FloatField(
        label=lazy("Rate per second"),
        required=False,
        max_value=flow_settings.MAX_WINDOW,
        help_text=lazy("Claims a second at most. Empty: no limit."),
        widget=forms.NumberInput(attrs={"step": "any", "min": "0"}),
    )
    deferred_window = forms.IntegerField(
        label=lazy("Answers outstanding"),
        required=False,
        min_value=1,
        max_value=flow_settings.MAX_WINDOW,
        help_text=lazy("Of calls that are answered later, at most. Empty: no limit."),
    )
    forced = forms.ChoiceField(label=lazy("Breaker by force"), choices=FORCED, required=False)
    #: The values as the operator saw them: of two who set them, the second is told.
    seen = forms.CharField(widget=forms.HiddenInput, max_length=200)

    field_order = ("window", "rate_per_second", "deferred_window", "forced", "reason")

    def clean_rate_per_second(self) -> float | None:
        rate: float | None = self.cleaned_data["rate_per_second"]
        if rate is not None and not rate > 0:
            raise forms.ValidationError(lazy("A rate is above 0. Leave it empty for no limit."))
        return rate


@require_http_methods(["GET", "HEAD", "POST"])
def set_one(request: HttpRequest, agent: str) -> HttpResponse:
    """Show the page; on POST set what is different, or say why not."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    flow = get_object_or_404(Flow, agent=agent)
    if request.method != "POST":
        return _page(request, flow, _form(flow))
    form = FlowForm(request.POST)
    if not form.is_valid():
        return _page(request, flow, form, status=400)
    try:
        changed = _set(flow, form.cleaned_data, actor(request))
    except StateError as refusal:
        flow.refresh_from_db()
        return _page(request, flow, _form(flow, form.cleaned_data["reason"]), 409, str(refusal))
    said = _("%(agent)s: %(changes)s.") % {"agent": agent, "changes": summaries.diff(changed)}
    write_log(request, flow, said, form.cleaned_data["reason"])
    messages.success(request, said)
    return redirect("admin:workers_flow_changelist")


def seen(flow: Flow) -> str:
    return f"{flow.window}:{flow.rate_per_second}:{flow.deferred_window}:{flow.forced}"


def _set(flow: Flow, given: dict[str, Any], who: str) -> dict[str, list[Any]]:
    wanted = {
        "window": given["window"],
        "rate_per_second": given["rate_per_second"],
        "deferred_window": given["deferred_window"],
        "forced": given["forced"] or None,
    }
    with durable("flow_views.set"):
        found = Flow.objects.select_for_update().get(pk=flow.pk)
        if seen(found) != given["seen"]:
            raise StateError(
                _("%(agent)s was set by somebody else since the page was opened. Look again.")
                % {"agent": flow.agent}
            )
        changed = operations.set_flow(flow.agent, wanted, actor=who, reason=given["reason"])
    if not changed:
        raise StateError(_("Nothing is different: every value is what it was."))
    return changed


def _form(flow: Flow, reason: str = "") -> FlowForm:
    return FlowForm(
        initial={
            "window": flow.window,
            "rate_per_second": flow.rate_per_second,
            "deferred_window": flow.deferred_window,
            "forced": flow.forced or "",
            "seen": seen(flow),
            "reason": reason,
        }
    )


def _page(
    request: HttpRequest, flow: Flow, form: FlowForm, status: int = 200, refusal: str = ""
) -> HttpResponse:
    now = dialect.read_clock()
    context = {
        **admin.site.each_context(request),
        "title": _("Set the flow of %(agent)s") % {"agent": flow.agent},
        "flow": flow,
        "form": form,
        "refusal": refusal,
        "lines": timeline.of_agent(flow.agent),
        "now": now,
        "server_now": now.isoformat(),
        "media": forms.Media(LiveMedia),
        "opts": Flow._meta,
    }
    return TemplateResponse(request, "admin/workers/set_flow.html", context, status=status)
