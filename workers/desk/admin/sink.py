"""Sinks: who is told of what, how far each has come, and telling one again."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
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
from workers.desk.admin.list_filter import by_column, list_filter
from workers.desk.admin.lists import LiveListAdmin, column, set_now
from workers.desk.admin.piles import Kind, WaitingPile
from workers.exceptions import StateError
from workers.models import Alert, Sink

#: Sinks that are told again in one go.
LIMIT = 1000


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


class Redeliver(RowAct):
    """Tell one sink again at once, then show the list with the button."""

    name = "redeliver"
    model = Sink
    permission = "workers.redeliver_sink"
    has_page = False

    def perform(self, request: HttpRequest, row: Sink, data: dict[str, Any]) -> str:
        if not redeliver(row.pk, actor=actor(request)):
            raise StateError(_("There is nothing to tell it: it was told everything."))
        return _told_again(row)


REDELIVER = Redeliver()


def _told_again(row: Sink) -> str:
    return _("Told again: %(sink)s.") % {"sink": row}


@admin.action(description=lazy("Tell selected ones again"), permissions=["redeliver"])
def redeliver_selected(
    model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Sink]
) -> None:
    """Tell the selected sinks again that were not told everything."""
    rows = [
        row for row in queryset.order_by("pk")[:LIMIT] if redeliver(row.pk, actor=actor(request))
    ]
    for row in rows:
        write_log(request, row, _told_again(row), "")
    count = len(rows)
    text = ngettext("%(n)d is told again.", "%(n)d are told again.", count) % {"n": count}
    (messages.success if rows else messages.warning)(request, text)


StateFilter = list_filter(
    "state",
    lazy("state"),
    (
        ("open", lazy("Open")),
        ("ended", lazy("Told everything")),
        ("undeliverable", lazy("Undeliverable")),
    ),
    by_column("state"),
    is_strict=False,
)
KindFilter = list_filter(
    "kind",
    lazy("kind"),
    (("queue", lazy("Reply queue")), ("webhook", lazy("Webhook"))),
    by_column("kind"),
    is_strict=False,
)


def _standing(row: Sink) -> SafeString:
    if row.state == "undeliverable":
        return badges.label(_("undeliverable"), "alert", "alert")
    if row.state == "ended":
        return badges.label(_("told everything"), "processed", "processed")
    if row.tries:
        return badges.label(_("failing"), "pending", "skipped")
    return badges.label(_("open"), "processing", "processing")


def _about(row: Any) -> SafeString:
    url = row.subject_url or reverse("admin:workers_process_change", args=[row.process_id])
    return badges.link(url, row.process.subject)


def _failure(row: Sink) -> str:
    return masking.UNKNOWN.text(delivery_problems.last_failure(row.problem, row.last_error))


def _next_try(row: Any) -> SafeString:
    failure = _failure(row)
    if not failure:
        return badges.NOTHING
    text = ngettext("%(n)d try", "%(n)d tries", row.tries) % {"n": row.tries}
    if row.state == "open":
        when = badges.countdown(row.next_try_at, row.now, _("next in %s"), _("due %s ago"))
        text = format_html("{} · {}", text, when)
    return badges.beside(failure, text)


def _again(row: Any) -> SafeString:
    if not row.may_redeliver:
        return badges.NOTHING
    title = _("Tell again of %(what)s") % {"what": row.process.subject}
    return badges.button(REDELIVER.address_of(row.pk), _("Tell again"), title)


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
    acts = (REDELIVER,)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Sink], search_term: str
    ) -> tuple[QuerySet[Sink], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        return queryset.filter(Q(owner__icontains=term) | Q(process__in=search.newest(term))), False

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_sinks()

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        urls = subjects.pages(row.process_id for row in rows)
        for row in rows:
            row.subject_url = urls.get(row.process_id)
            is_in_trouble = row.state == "undeliverable" or row.tries > 0
            row.may_redeliver = row.cursor < row.last and is_in_trouble and REDELIVER.may(request)

    def has_redeliver_permission(self, request: HttpRequest) -> bool:
        return REDELIVER.may(request)

    standing = column(lazy("state"), _standing, "state")
    about = column(lazy("about"), _about, "process__subject")
    place = column(
        lazy("address"), lambda row: badges.message(row.address.partition("?")[0]), "address"
    )
    heard = column(
        lazy("told"), lambda row: _("%(told)d of %(all)d") % {"told": row.cursor, "all": row.last}
    )
    next_try = column(lazy("last failure"), _next_try)
    failure = column(lazy("last failure"), lambda row: _failure(row) or badges.NOTHING)
    due = column(lazy("next try at"), lambda row: badges.instant(row.next_try_at))
    again = column(lazy("tell again"), _again)
