"""Taking note of alerts: one by its button, or many with one comment."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from workers.desk.admin import masking
from workers.desk.admin.actions.page import actor
from workers.desk.admin.lists import LiveMedia, back_to
from workers.desk.store import alert_commands
from workers.models import Alert

PERMISSION = "workers.acknowledge_alert"
#: Alerts acknowledged in one go.
LIMIT = 1000


class CommentForm(forms.Form):
    comment = forms.CharField(
        label=lazy("Comment"),
        required=False,
        max_length=500,
        help_text=lazy("Optional. Kept with the alert, for whoever looks next."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class SelectedForm(CommentForm):
    """The alerts an operator has seen, and the comment on all of them."""

    alerts = forms.CharField(widget=forms.HiddenInput, max_length=LIMIT * 20)

    def clean_alerts(self) -> list[int]:
        ids = [part for part in self.cleaned_data["alerts"].split(",") if part]
        if len(ids) > LIMIT or not all(part.isdecimal() and len(part) < 19 for part in ids):
            raise forms.ValidationError(lazy("This is no list of alerts."))
        return [int(part) for part in ids]


def may(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.has_perm(PERMISSION))


@require_POST
def acknowledge_one(request: HttpRequest, pk: int) -> HttpResponse:
    """Acknowledge one alert; the list it was clicked in, or the alert, is shown again."""
    user_id = _user_id(request)
    alert = get_object_or_404(Alert, pk=pk)
    masking.conceal_alerts([alert])
    form = CommentForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(map(str, form.errors["comment"])))
    elif alert_commands.acknowledge(
        alert.pk, user_id, form.cleaned_data["comment"], actor=actor(request)
    ):
        messages.success(request, _("Acknowledged: %(message)s") % {"message": alert.message})
    elif Alert.objects.get(pk=pk).has_ended_by_itself:
        messages.warning(request, _("Its cause has ended: there is nothing left to acknowledge."))
    else:
        messages.warning(request, _("Somebody else has acknowledged this alert already."))
    return redirect(_back(request))


@admin.action(description=lazy("Acknowledge selected alerts"), permissions=["acknowledge"])
def acknowledge_selected(
    model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Alert]
) -> HttpResponse | None:
    """Ask for a comment on the open ones of the alerts that were selected."""
    found = list(queryset.filter(acknowledged_at=None).order_by("pk")[:LIMIT])
    if not found:
        messages.warning(request, _("None of the selected alerts is open."))
        return None
    form = SelectedForm(initial={"alerts": ",".join(str(alert.pk) for alert in found)})
    return _page(model_admin.admin_site, request, form, found)


@require_POST
def acknowledge_many(request: HttpRequest) -> HttpResponse:
    """Acknowledge the alerts that were shown, and no other, and say how many landed."""
    user_id = _user_id(request)
    form = SelectedForm(request.POST)
    if not form.is_valid():
        ids = form.cleaned_data.get("alerts", [])
        return _page(admin.site, request, form, list(Alert.objects.filter(pk__in=ids)))
    wanted: list[int] = form.cleaned_data["alerts"]
    comment = form.cleaned_data["comment"]
    landed = sum(
        alert_commands.acknowledge(pk, user_id, comment, actor=actor(request)) for pk in wanted
    )
    _report(request, landed, len(wanted) - landed)
    return back_to(request, "admin:workers_alert_changelist")


def _user_id(request: HttpRequest) -> int:
    if not may(request) or request.user.pk is None:
        raise PermissionDenied
    return int(request.user.pk)


def _report(request: HttpRequest, landed: int, others: int) -> None:
    if landed:
        text = ngettext("%(n)d alert acknowledged.", "%(n)d alerts acknowledged.", landed)
        messages.success(request, text % {"n": landed})
    if others:
        text = ngettext(
            "%(n)d was acknowledged already.", "%(n)d were acknowledged already.", others
        )
        messages.warning(request, text % {"n": others})


def _page(
    site: admin.AdminSite, request: HttpRequest, form: SelectedForm, found: list[Alert]
) -> HttpResponse:
    masking.conceal_alerts(found)
    context = {
        **site.each_context(request),
        "title": _("Acknowledge alerts"),
        "form": form,
        "alerts": found,
        "query": request.GET.urlencode(),
        "media": forms.Media(LiveMedia),
        "opts": Alert._meta,
    }
    status = 400 if form.is_bound else 200
    return TemplateResponse(request, "admin/workers/acknowledge.html", context, status=status)


def _back(request: HttpRequest) -> str:
    """Return the page the button was on, if it is one of this site."""
    came_from = request.headers.get("referer", "")
    if url_has_allowed_host_and_scheme(came_from, {request.get_host()}, request.is_secure()):
        return came_from
    return "admin:workers_alert_changelist"
