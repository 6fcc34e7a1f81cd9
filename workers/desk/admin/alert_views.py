"""Acknowledging alerts: one by its button, or many with one comment."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from workers.desk.admin import masking
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.lists import LiveMedia, back_to
from workers.desk.store import alert_commands
from workers.exceptions import StateError
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


class Acknowledge(RowAct):
    """Acknowledge one alert, then show the page with the button again."""

    name = "acknowledge"
    model = Alert
    permission = PERMISSION
    form = CommentForm
    has_page = False

    def perform(self, request: HttpRequest, row: Alert, data: dict[str, Any]) -> str:
        assert request.user.pk is not None
        masking.conceal_alerts([row])
        if alert_commands.acknowledge(
            row.pk, int(request.user.pk), data["comment"], actor=actor(request)
        ):
            return _("Acknowledged: %(message)s") % {"message": row.message}
        if Alert.objects.get(pk=row.pk).has_ended_by_itself:
            raise StateError(_("Its cause has ended: there is nothing left to acknowledge."))
        raise StateError(_("Somebody else has acknowledged this alert already."))

    def url(self, request: HttpRequest, row: Alert) -> str:
        """Return the page the button was on, if it is one of this site."""
        came_from = request.headers.get("referer", "")
        if url_has_allowed_host_and_scheme(came_from, {request.get_host()}, request.is_secure()):
            return came_from
        return "admin:workers_alert_changelist"


ACKNOWLEDGE = Acknowledge()


@admin.action(description=lazy("Acknowledge selected alerts"), permissions=["acknowledge"])
def acknowledge_selected(
    model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Alert]
) -> HttpResponse | None:
    """Ask for a comment on the selected alerts that are open."""
    alerts = list(queryset.filter(acknowledged_at=None).order_by("pk")[:LIMIT])
    if not alerts:
        messages.warning(request, _("None of the selected alerts is open."))
        return None
    form = SelectedForm(initial={"alerts": ",".join(str(alert.pk) for alert in alerts)})
    return _page(model_admin.admin_site, request, form, alerts)


@require_POST
def acknowledge_many(request: HttpRequest) -> HttpResponse:
    """Acknowledge exactly the alerts that were shown, and report how many."""
    user_id = _user_id(request)
    form = SelectedForm(request.POST)
    if not form.is_valid():
        ids = form.cleaned_data.get("alerts", [])
        return _page(admin.site, request, form, list(Alert.objects.filter(pk__in=ids)))
    alert_ids: list[int] = form.cleaned_data["alerts"]
    comment = form.cleaned_data["comment"]
    count = sum(
        alert_commands.acknowledge(pk, user_id, comment, actor=actor(request)) for pk in alert_ids
    )
    _report(request, count, len(alert_ids) - count)
    return back_to(request, "admin:workers_alert_changelist")


def _user_id(request: HttpRequest) -> int:
    if not ACKNOWLEDGE.may(request) or request.user.pk is None:
        raise PermissionDenied
    return int(request.user.pk)


def _report(request: HttpRequest, count: int, skipped: int) -> None:
    if count:
        text = ngettext("%(n)d alert acknowledged.", "%(n)d alerts acknowledged.", count)
        messages.success(request, text % {"n": count})
    if skipped:
        text = ngettext(
            "%(n)d was acknowledged already.", "%(n)d were acknowledged already.", skipped
        )
        messages.warning(request, text % {"n": skipped})


def _page(
    site: admin.AdminSite, request: HttpRequest, form: SelectedForm, alerts: list[Alert]
) -> HttpResponse:
    masking.conceal_alerts(alerts)
    context = {
        **site.each_context(request),
        "title": _("Acknowledge alerts"),
        "form": form,
        "alerts": alerts,
        "query": request.GET.urlencode(),
        "media": forms.Media(LiveMedia),
        "opts": Alert._meta,
    }
    status = 400 if form.is_bound else 200
    return TemplateResponse(request, "admin/workers/acknowledge.html", context, status=status)
