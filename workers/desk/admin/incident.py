"""Incidents: a list with the open ones first, a page for each, and the desk of the open ones."""

from typing import Any

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.definitions.alert_kinds import alert_kinds
from workers.desk.admin import (
    badges,
    changes,
    delivery,
    filters,
    hand_over,
    incident_page,
    incident_views,
    lists,
)
from workers.desk.admin.bulk.kinds import BY_NAME
from workers.desk.admin.bulk.selection import SAMPLE
from workers.desk.admin.changes import Marker
from workers.desk.admin.hold import HOLD
from workers.desk.admin.list_filter import Choice, ListFilter, by_column, list_filter, row_id
from workers.desk.admin.lists import LiveListAdmin, View, column
from workers.desk.admin.notes import NoteForm
from workers.desk.admin.row_page import RowPageAdmin
from workers.desk.admin.view_lists import ViewListAdmin
from workers.desk.models import Incident
from workers.desk.operate import incident_list
from workers.desk.states import IncidentState
from workers.ops import wait_facts

VIEW_JOBS = "desk.view_bulkjob"
#: Maximum incidents on the desk; the list has the others.
ON_DESK = 20
#: By state of an incident: the state of a process whose shape and tone it has.
LOOKS = {
    IncidentState.OPEN: "alert",
    IncidentState.ACKNOWLEDGED: "processing",
    IncidentState.SNOOZED: "pending",
    IncidentState.RESOLVED: "processed",
}


OpenFilter = list_filter(
    "is",
    lazy("state"),
    (
        Choice("open", lazy("Not resolved"), Q(resolved_at=None)),
        Choice(
            "acknowledged", lazy("Taken"), Q(resolved_at=None, state=IncidentState.ACKNOWLEDGED)
        ),
        Choice("snoozed", lazy("Snoozed"), Q(resolved_at=None, state=IncidentState.SNOOZED)),
        Choice("resolved", lazy("Resolved"), Q(resolved_at__isnull=False)),
    ),
)


def _keep_owned(asked: ListFilter, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    owners = {"me": asked.request.user.pk, "nobody": None}
    return rows.filter(assignee=owners[value]) if value in owners else rows


OwnerFilter = list_filter(
    "owner",
    lazy("owner"),
    (("me", lazy("Mine")), ("nobody", lazy("Nobody's"))),
    _keep_owned,
    is_strict=False,
)
CodeFilter = list_filter(
    "code",
    lazy("code"),
    # The kinds of the code: to get them from the rows would read all rows.
    lambda _filter: [(kind.code, kind.code) for kind in alert_kinds()],
    by_column("code"),
    is_strict=False,
)


def _next_act(row: Any) -> SafeString:
    return badges.labelled(_("next:"), row.line.next_act) if row.line.next_act else badges.NOTHING


def _owner(row: Incident) -> SafeString:
    return badges.labelled(_("owner"), row.assignee) if row.assignee else badges.NOTHING


def state_mark(row: Incident) -> SafeString:
    """Return the state of an incident, and until when it is snoozed."""
    look = LOOKS[IncidentState(row.state)]
    mark = badges.label(row.get_state_display(), look, look)
    if row.snooze_until is None:
        return mark
    return format_html("{} {} {}", mark, _("until"), badges.instant(row.snooze_until))


@admin.register(Incident)
class IncidentAdmin(RowPageAdmin, ReadOnlyAdmin, ViewListAdmin, LiveListAdmin):
    """Incidents: one line per cause."""

    change_list_template = "admin/workers/incident/list.html"
    change_form_template = "admin/workers/incident/page.html"
    live_template = "admin/workers/incident/live.html"

    never_asked = ("params",)
    list_display = ("what", "standing", "affected", "since", "last", "next_act", "owner")
    list_display_links = ("what",)
    sortable_by = ("last",)
    list_filter = (OpenFilter, OwnerFilter, CodeFilter)
    show_facets = ShowFacets.NEVER
    list_select_related = ("assignee",)
    search_fields = ("key",)
    search_help_text = lazy("Beginning of a key, as the terminal prints it")
    ordering = (F("resolved_at").desc(nulls_first=True), "-last_at", "-id")
    acts = incident_views.ACTS

    def views(self) -> list[View]:
        return [
            ("hand_over", "hand-over/", hand_over.show),
            ("csv", "<int:pk>/csv/", incident_page.csv_view),
            ("desk", "desk/", desk),
            ("sample", "<int:pk>/sample/", self.sample_view),
            *super().views(),
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Incident], search_term: str
    ) -> tuple[QuerySet[Incident], bool]:
        term = search_term.strip()
        return (queryset.filter(key__startswith=term) if term else queryset), False

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_desk()

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        situation = wait_facts.read()
        for line in incident_list.in_words(rows, situation):
            row: Any = line.incident
            row.line, row.now = line, situation.now

    def live_marker(self, row: Incident) -> Marker:
        return changes.of_desk()

    def live_context(self, request: HttpRequest, row: Incident) -> dict[str, Any]:
        panel = incident_page.panel(row, row_id(request.GET.get("seen", "")))
        return {"panel": panel, "live_url": f"{self.url_of('live', row.pk)}?seen={panel.seen}"}

    def row_context(self, request: HttpRequest, row: Incident) -> dict[str, Any]:
        live = self.live_context(request, row)
        members = incident_page.members(live["panel"], row_id(request.GET.get("page", "")) or 1)
        return {
            **live,
            "title": live["panel"].line.title,
            "server_now": live["panel"].now.isoformat(),
            "offers": incident_views.offers(request, row),
            "samples": members.samples,
            "members": members.page,
            "notes": incident_page.notes(row),
            "jobs": incident_page.jobs(row) if request.user.has_perm(VIEW_JOBS) else [],
            "deliveries": delivery.of_incident(row.pk),
            "note_form": NoteForm(),
            "note_url": note_url(request, row),
            "links": incident_page.links(request, row),
            "may_sample": row.resolved_at is None
            and row.members > SAMPLE
            and incident_page.is_of_processes(row)
            and incident_page.list_to_resubmit(request) is not None,
            "sample": SAMPLE,
            "agent": row.params.get("agent") or "",
            "may_hold": HOLD.may(request),
        }

    def sample_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask before a job that resubmits a sample of the members, and then the others."""
        self.row_at(request, pk)
        model_admin = incident_page.list_to_resubmit(request)
        if model_admin is None:
            raise PermissionDenied
        # Filter as the list does: the job's page links back to it.
        if request.GET.get("incident") != str(pk):
            return redirect(f"{request.path}?incident={pk}")
        rows = filters.members(model_admin.get_queryset(request), model_admin.process_path, pk)
        page = model_admin.ask(request, BY_NAME["resubmit"], rows, sample=SAMPLE)
        return page or redirect("admin:desk_incident_change", pk)

    what = column(lazy("what broke"), lambda row: str(row.line.title))
    standing = column(lazy("state"), state_mark)
    affected = column(lazy("members"), lambda row: badges.labelled(_("members"), members_text(row)))
    since = column(
        lazy("since"),
        lambda row: badges.labelled(_("since"), badges.age(row.opened_at, row.now)),
    )
    last = column(
        lazy("last"),
        lambda row: badges.labelled(_("last"), badges.age(row.last_at, row.now)),
        "-last_at",
    )
    next_act = column(lazy("next"), _next_act)
    owner = column(lazy("owner"), _owner)


def desk(request: HttpRequest) -> HttpResponse:
    """Answer a poll of the engine's own front page with the open incidents."""
    if not request.user.has_perm("desk.view_incident"):
        raise PermissionDenied
    template = "admin/workers/incident/front_live.html"
    return lists.live_part(request, changes.of_desk(), template, dict)


def note_url(request: HttpRequest, row: Incident) -> str:
    """Return the URL that a note is posted to; empty if the user may write none."""
    if not request.user.has_perm("desk.note_incident"):
        return ""
    return reverse("admin:desk_incident_note", args=[row.pk])


def members_text(row: Incident) -> SafeString | str:
    """Return how many members an incident has and had, and what they are worth."""
    count = str(row.members) if row.resolved_at is None else "0"
    if row.total != row.members:
        count = _("%(n)s of %(total)s") % {"n": count, "total": row.total}
    if not row.money:
        return count
    worth = number_format(row.money, 2, force_grouping=True)
    return badges.beside(count, f"{_('worth')} {worth}")
