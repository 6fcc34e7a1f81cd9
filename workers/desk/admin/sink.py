"""Sinks: who is told of what, how far each has come, and telling one again."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from workers.admin import ReadOnlyAdmin
from workers.client.operations import redeliver
from workers.definitions import delivery_problems
from workers.desk.admin import badges, changes, masking, piles, search, subjects
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.changes import Marker
from workers.desk.admin.lists import BoundedChangeList, LiveListAdmin, back_to
from workers.desk.admin.piles import Kind, WaitingPile
from workers.exceptions import StateError
from workers.models import Alert, Sink
from workers.store.db import dialect

#: Sinks that are told again in one go.
LIMIT = 1000
PERMISSION = "workers.redeliver_sink"


def given_up() -> Kind:
    """Return the receivers that are told no more: by their alerts, because those are few."""
    rows = Alert.objects.filter(code="sink_undeliverable", acknowledged_at=None)
    return Kind(rows, "raised_at")


def tried_again() -> Kind:
    """Return the sinks that could not be told and will be tried again by themselves."""
    return Kind(Sink.objects.filter(state="open", last__gt=F("cursor"), tries__gt=0), "next_try_at")


piles.register(
    WaitingPile(
        "sinks_given_up",
        lazy("Receivers that are told no more"),
        given_up,
        *("admin:workers_sink_changelist", "state=undeliverable", "workers.view_sink"),
    )
)


class SinkChangeList(BoundedChangeList):
    """A change list that adds to its rows the time, a URL, and whether the user may act."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        now = dialect.read_clock()
        self.result_list = list(self.result_list)
        urls = subjects.pages(row.process_id for row in self.result_list)
        for row in self.result_list:
            row.now = now
            row.subject_url = urls.get(row.process_id)
            row.may_redeliver = (
                row.cursor < row.last
                and (row.state == "undeliverable" or row.tries > 0)
                and may(request)
            )


def may(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.has_perm(PERMISSION))


class Redeliver(RowAct):
    """Tell one sink again at once, then show the list with the button."""

    model = Sink
    permission = PERMISSION
    form = forms.Form
    has_page = False

    def perform(self, request: HttpRequest, row: Sink, data: dict[str, Any]) -> str:
        if not redeliver(row.pk, actor=actor(request)):
            raise StateError(_("There is nothing to tell it: it was told everything."))
        return _("Told again: %(sink)s.") % {"sink": row}

    def url(self, request: HttpRequest, row: Sink) -> str:
        return back_to(request, "admin:workers_sink_changelist").url


@admin.action(description=lazy("Tell selected ones again"), permissions=["redeliver"])
def redeliver_selected(
    model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Sink]
) -> None:
    """Tell the selected sinks again that were not told everything."""
    rows = [
        row for row in queryset.order_by("pk")[:LIMIT] if redeliver(row.pk, actor=actor(request))
    ]
    for row in rows:
        write_log(request, row, _("Told again: %(sink)s.") % {"sink": row}, "")
    count = len(rows)
    text = ngettext("%(n)d is told again.", "%(n)d are told again.", count) % {"n": count}
    (messages.success if rows else messages.warning)(request, text)


class StateFilter(admin.SimpleListFilter):
    title = lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("open", lazy("Open")),
            ("ended", lazy("Told everything")),
            ("undeliverable", lazy("Undeliverable")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Sink]) -> QuerySet[Sink]:
        return queryset.filter(state=self.value()) if self.value() else queryset


class KindFilter(admin.SimpleListFilter):
    title = lazy("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("queue", lazy("Reply queue")), ("webhook", lazy("Webhook"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Sink]) -> QuerySet[Sink]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(Sink)
class SinkAdmin(ReadOnlyAdmin, LiveListAdmin):
    """Sinks, those in trouble first."""

    list_display = ("standing", "about", "kind", "place", "owner", "heard", "next_try", "again")
    list_display_links = None
    # No filter by owner: its choices would read all rows.  The search finds an owner.
    list_filter = (StateFilter, KindFilter)
    list_select_related = ("process",)
    # The query of an address may be a secret of the client's: it is neither shown nor
    # searched, or it could be guessed letter by letter.
    never_asked = ("address", "problem", "last_error")
    search_fields = ("owner",)
    search_help_text = lazy("Beginning of what the process is about, or owner")
    # No column has an index to sort by.
    sortable_by = ()
    fields = (
        *("process", "kind", "place", "owner", "correlation_id", "state", "cursor", "last"),
        *("tries", "due", "failure"),
    )
    readonly_fields = ("place", "due", "failure")
    ordering = (F("tries").desc(), "-pk")
    actions = (redeliver_selected,)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("<int:pk>/redeliver/", wrap(Redeliver().view()), name="workers_sink_redeliver"),
            *super().get_urls(),
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Sink], search_term: str
    ) -> tuple[QuerySet[Sink], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        return queryset.filter(Q(owner__icontains=term) | Q(process__in=search.newest(term))), False

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_sinks()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[SinkChangeList]:
        return SinkChangeList

    def has_redeliver_permission(self, request: HttpRequest) -> bool:
        return may(request)

    @admin.display(description=lazy("state"), ordering="state")
    def standing(self, row: Sink) -> SafeString:
        if row.state == "undeliverable":
            return badges.label(_("undeliverable"), "alert", "alert")
        if row.state == "ended":
            return badges.label(_("told everything"), "processed", "processed")
        if row.tries:
            return badges.label(_("failing"), "pending", "skipped")
        return badges.label(_("open"), "processing", "processing")

    @admin.display(description=lazy("about"), ordering="process__subject")
    def about(self, row: Any) -> SafeString:
        url = row.subject_url or reverse("admin:workers_process_change", args=[row.process_id])
        return format_html('<a href="{}">{}</a>', url, row.process.subject)

    @admin.display(description=lazy("address"), ordering="address")
    def place(self, row: Sink) -> SafeString:
        address = row.address.partition("?")[0]
        return format_html('<span class="sas-message">{}</span>', address)

    @admin.display(description=lazy("told"))
    def heard(self, row: Sink) -> str:
        return _("%(told)d of %(all)d") % {"told": row.cursor, "all": row.last}

    @admin.display(description=lazy("last failure"))
    def next_try(self, row: Any) -> SafeString | str:
        failure = _failure(row)
        if not failure:
            return badges.NOTHING
        text = ngettext("%(n)d try", "%(n)d tries", row.tries) % {"n": row.tries}
        if row.state == "open":
            when = badges.countdown(row.next_try_at, row.now, _("next in %s"), _("due %s ago"))
            text = format_html("{} · {}", text, when)
        return format_html('{} <span class="sas-agent">{}</span>', failure, text)

    @admin.display(description=lazy("last failure"))
    def failure(self, row: Sink) -> SafeString | str:
        return _failure(row) or badges.NOTHING

    @admin.display(description=lazy("next try at"))
    def due(self, row: Sink) -> SafeString | str:
        return badges.instant(row.next_try_at)

    @admin.display(description=lazy("tell again"))
    def again(self, row: Any) -> SafeString | str:
        if not row.may_redeliver:
            return badges.NOTHING
        return format_html(
            '<button type="submit" class="sas-button" formaction="{}" aria-label="{}">{}</button>',
            reverse("admin:workers_sink_redeliver", args=[row.pk]),
            _("Tell again of %(what)s") % {"what": row.process.subject},
            _("Tell again"),
        )


def _failure(row: Sink) -> str:
    return masking.UNKNOWN.text(delivery_problems.last_failure(row.problem, row.last_error))
