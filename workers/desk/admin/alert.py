"""Alerts: a list with the open ones first, a page for each, and acknowledging them."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ShowFacets
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges, masking, search, showing, subjects
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct, RowIdsField
from workers.desk.admin.list_filter import Choice, list_filter
from workers.desk.admin.lists import (
    LiveListAdmin,
    View,
    back_to,
    column,
    own_page,
    set_now,
)
from workers.desk.admin.row_page import RowPageAdmin
from workers.desk.store import alert_commands
from workers.desk.texts import alert_texts
from workers.exceptions import StateError
from workers.models import Alert
from workers.store.db import dialect

PERMISSION = "workers.acknowledge_alert"
#: Alerts acknowledged in one go.
LIMIT = 1000


class CommentForm(forms.Form):
    comment = forms.CharField(
        label=lazy("Comment"),
        required=False,
        max_length=500,
        help_text=lazy("Optional. Kept with the alert, for the next person."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class SelectedForm(CommentForm):
    """The alerts an operator has seen, and the comment on all of them."""

    alerts = RowIdsField(LIMIT, lazy("This is no list of alerts."))


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
    return _page(request, form, alerts)


@require_POST
def acknowledge_many(request: HttpRequest) -> HttpResponse:
    """Acknowledge exactly the alerts that were shown, and report how many."""
    user_id = _user_id(request)
    form = SelectedForm(request.POST)
    if not form.is_valid():
        ids = form.cleaned_data.get("alerts", [])
        return _page(request, form, list(Alert.objects.filter(pk__in=ids)))
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


def _page(request: HttpRequest, form: SelectedForm, alerts: list[Alert]) -> HttpResponse:
    masking.conceal_alerts(alerts)
    context = {
        "title": _("Acknowledge alerts"),
        "form": form,
        "alerts": alerts,
        "query": request.GET.urlencode(),
    }
    status = 400 if form.is_bound else 200
    return own_page(request, "admin/workers/acknowledge.html", Alert, context, status)


_IS_OVER = Q(resolved_at__isnull=False, resolved_at=F("acknowledged_at"))

OpenFilter = list_filter(
    "is",
    lazy("open or closed"),
    (
        Choice("open", lazy("Open"), Q(acknowledged_at=None)),
        Choice("acknowledged", lazy("Acknowledged"), Q(acknowledged_at__isnull=False) & ~_IS_OVER),
        Choice("ended", lazy("Ended by itself"), _IS_OVER),
    ),
)
StillSoFilter = list_filter(
    "still",
    lazy("still so"),
    (
        Choice("yes", lazy("Still so"), Q(resolved_at__isnull=True)),
        Choice("no", lazy("Over"), Q(resolved_at__isnull=False)),
    ),
)


def _still_so(row: Alert) -> SafeString:
    text: SafeString | str = _("yes")
    if row.resolved_at is not None:
        text = format_html("{} {}", _("no, over since"), badges.instant(row.resolved_at))
    return format_html('<span class="sas-label">{}: </span>{}', _("still so"), text)


def _about(row: Any) -> SafeString:
    return badges.link(row.subject_url, row.process.subject) if row.process else badges.NOTHING


def _repeated(row: Any) -> SafeString | str:
    if row.times == 1:
        return _("once")
    last = format_html("{} {}", _("last"), badges.age(row.last_raised_at, row.now))
    return badges.beside(_("%(n)d times") % {"n": row.times}, last)


def _acknowledge(row: Any) -> SafeString:
    if row.acknowledged_at is not None and not row.has_ended_by_itself:
        user = row.acknowledged_by or _("somebody")
        return format_html("{} {}", user, badges.instant(row.acknowledged_at))
    if not row.may_acknowledge:
        return badges.NOTHING
    return badges.button(
        ACKNOWLEDGE.address_of(row.pk),
        _("Acknowledge"),
        _("Acknowledge: %(message)s") % {"message": row.message},
    )


def standing_mark(row: Alert) -> SafeString:
    """Return whether an alert is open, and if not, how it was closed."""
    if row.acknowledged_at is None:
        return badges.label(_("open"), "alert", "alert")
    text = _("ended by itself") if row.has_ended_by_itself else _("acknowledged")
    return badges.label(text, "processed", "processed")


@admin.register(Alert)
class AlertAdmin(RowPageAdmin, ReadOnlyAdmin, LiveListAdmin):
    """Alerts to operators, and who acknowledged them."""

    change_form_template = "admin/workers/alert_page.html"
    list_display = (
        *("standing", "still_so", "code", "text", "about"),
        *("raised", "repeated", "acknowledge"),
    )
    list_display_links = ("code",)
    never_asked = ("params", "message", "comment")
    list_filter = (OpenFilter, StillSoFilter, "code", "raised_at")
    show_facets = ShowFacets.ALWAYS
    list_select_related = ("process", "acknowledged_by")
    search_fields = ("code",)
    search_help_text = lazy(
        "Code, or beginning of what the process is about; with the right to show personal data "
        "what it names, too"
    )
    ordering = (F("acknowledged_at").desc(nulls_first=True), "-last_raised_at")
    actions = (acknowledge_selected,)
    acts = (ACKNOWLEDGE,)

    def views(self) -> list[View]:
        many = ("acknowledge_selected", "acknowledge/", acknowledge_many)
        return [*super().views(), many]

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        # Masked text could be guessed letter by letter, by what a part of it finds.
        return ("facts", "message", "code") if showing.may(request) else self.search_fields

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Alert], search_term: str
    ) -> tuple[QuerySet[Alert], bool]:
        # The params as text: the words around them exist only in the reader's language.
        queryset = queryset.annotate(facts=Cast("params", TextField()))
        rows, may_repeat = super().get_search_results(request, queryset, search_term)
        term = search_term.strip()
        if term:
            rows |= queryset.filter(process__in=search.newest(term))
        return rows, may_repeat

    def has_acknowledge_permission(self, request: HttpRequest) -> bool:
        return ACKNOWLEDGE.may(request)

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        masking.conceal_alerts(rows)
        urls = subjects.pages(row.process_id for row in rows if row.process_id)
        for row in rows:
            row.subject_url = urls.get(row.process_id) or process_url(row)
            row.may_acknowledge = ACKNOWLEDGE.may(request) and row.acknowledged_at is None

    def row_context(self, request: HttpRequest, row: Alert) -> dict[str, Any]:
        now = dialect.read_clock()
        masking.conceal_alerts([row])
        return {
            "title": _("Alert"),
            "alert": row,
            "remedy": alert_texts.remedy(row.code, {"said": row.params}),
            "now": now,
            "server_now": now.isoformat(),
            "subject_url": subjects.pages([row.process_id or 0]).get(row.process_id or 0)
            or process_url(row),
            "may_acknowledge": ACKNOWLEDGE.may(request),
        }

    standing = column(lazy("state"), standing_mark, F("acknowledged_at").desc(nulls_first=True))
    still_so = column(lazy("still so"), _still_so, "resolved_at")
    text = column(lazy("message"), lambda row: badges.message(row.message))
    about = column(lazy("about"), _about)
    raised = column(lazy("raised"), lambda row: badges.age(row.raised_at, row.now), "raised_at")
    repeated = column(lazy("times"), _repeated, "times")
    acknowledge = column(lazy("acknowledge"), _acknowledge)


def process_url(row: Alert) -> str | None:
    if row.process_id is None:
        return None
    return reverse("admin:workers_process_change", args=[row.process_id])
