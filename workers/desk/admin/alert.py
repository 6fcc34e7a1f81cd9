"""Alerts: a list with the open ones first, and a page for each."""

from typing import Any

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.db.models import F, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import alert_views, badges, masking, search, showing, subjects
from workers.desk.admin.lists import BoundedChangeList, ConditionFilter, LiveListAdmin
from workers.desk.admin.row_page import RowPageAdmin
from workers.desk.texts import alert_texts
from workers.models import Alert
from workers.store.db import dialect


class AlertChangeList(BoundedChangeList):
    """A change list that adds to its rows the time, a URL, and whether the user may act."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        now = dialect.read_clock()
        self.result_list = list(self.result_list)
        masking.conceal_alerts(self.result_list)
        urls = subjects.pages(row.process_id for row in self.result_list if row.process_id)
        for row in self.result_list:
            row.now = now
            row.subject_url = urls.get(row.process_id) or process_url(row)
            row.may_acknowledge = alert_views.may(request) and row.acknowledged_at is None


class OpenFilter(ConditionFilter):
    title = lazy("open or closed")
    parameter_name = "is"
    _is_over = Q(resolved_at__isnull=False, resolved_at=F("acknowledged_at"))
    choices_of = (
        ("open", lazy("Open"), Q(acknowledged_at=None)),
        ("acknowledged", lazy("Acknowledged"), Q(acknowledged_at__isnull=False) & ~_is_over),
        ("ended", lazy("Ended by itself"), _is_over),
    )


class StillSoFilter(admin.SimpleListFilter):
    title = lazy("still so")
    parameter_name = "still"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", lazy("Still so")), ("no", lazy("Over"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Alert]) -> QuerySet[Alert]:
        if self.value() in ("yes", "no"):
            return queryset.filter(resolved_at__isnull=self.value() == "yes")
        return queryset


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
    actions = (alert_views.acknowledge_selected,)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path(
                "<int:pk>/acknowledge/",
                wrap(alert_views.Acknowledge().view()),
                name="workers_alert_acknowledge",
            ),
            path(
                "acknowledge/",
                wrap(alert_views.acknowledge_many),
                name="workers_alert_acknowledge_selected",
            ),
            *super().get_urls(),
        ]

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

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[AlertChangeList]:
        return AlertChangeList

    def has_acknowledge_permission(self, request: HttpRequest) -> bool:
        return alert_views.may(request)

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
            "may_acknowledge": alert_views.may(request),
        }

    @admin.display(description=lazy("state"), ordering=F("acknowledged_at").desc(nulls_first=True))
    def standing(self, row: Alert) -> SafeString:
        return standing_mark(row)

    @admin.display(description=lazy("still so"), ordering="resolved_at")
    def still_so(self, row: Any) -> SafeString | str:
        text: SafeString | str = _("yes")
        if row.resolved_at is not None:
            text = format_html("{} {}", _("no, over since"), badges.instant(row.resolved_at))
        return format_html('<span class="sas-label">{}: </span>{}', _("still so"), text)

    @admin.display(description=lazy("message"))
    def text(self, row: Alert) -> SafeString:
        return format_html('<span class="sas-message">{}</span>', row.message)

    @admin.display(description=lazy("about"))
    def about(self, row: Any) -> SafeString | str:
        if row.process is None:
            return badges.NOTHING
        return format_html('<a href="{}">{}</a>', row.subject_url, row.process.subject)

    @admin.display(description=lazy("raised"), ordering="raised_at")
    def raised(self, row: Any) -> SafeString | str:
        return badges.age(row.raised_at, row.now)

    @admin.display(description=lazy("times"), ordering="times")
    def repeated(self, row: Any) -> SafeString | str:
        if row.times == 1:
            return _("once")
        return format_html(
            '{} <span class="sas-agent">{} {}</span>',
            _("%(n)d times") % {"n": row.times},
            _("last"),
            badges.age(row.last_raised_at, row.now),
        )

    @admin.display(description=lazy("acknowledge"))
    def acknowledge(self, row: Any) -> SafeString | str:
        if row.has_ended_by_itself:
            return badges.NOTHING
        if row.acknowledged_at is not None:
            user = row.acknowledged_by or _("somebody")
            return format_html("{} {}", user, badges.instant(row.acknowledged_at))
        if not row.may_acknowledge:
            return badges.NOTHING
        # A button of the list's own form, which sends its CSRF token.
        return format_html(
            '<button type="submit" class="sas-button" formaction="{}" aria-label="{}">{}</button>',
            reverse("admin:workers_alert_acknowledge", args=[row.pk]),
            _("Acknowledge: %(message)s") % {"message": row.message},
            _("Acknowledge"),
        )


def standing_mark(row: Alert) -> SafeString:
    """Return whether an alert is open, and if not, how it was closed."""
    if row.acknowledged_at is None:
        return badges.label(_("open"), "alert", "alert")
    text = _("ended by itself") if row.has_ended_by_itself else _("acknowledged")
    return badges.label(text, "processed", "processed")


def process_url(row: Alert) -> str | None:
    if row.process_id is None:
        return None
    return reverse("admin:workers_process_change", args=[row.process_id])
