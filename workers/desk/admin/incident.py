"""Incidents: a list with the open ones first, a page for each, and the desk of the open ones."""

from typing import Any

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
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
    hand_over_views,
    hold_views,
    incident_csv,
    incident_filter,
    incident_links,
    incident_page,
    incident_views,
    lists,
)
from workers.desk.admin.bulk.form import SAMPLE
from workers.desk.admin.bulk.kinds import BY_NAME
from workers.desk.admin.changes import Marker
from workers.desk.admin.lists import BoundedChangeList, ConditionFilter, LiveListAdmin
from workers.desk.admin.notes import NoteForm
from workers.desk.admin.row_page import RowPageAdmin
from workers.desk.admin.view_lists import ViewListAdmin
from workers.desk.operate import incident_list
from workers.models import Incident
from workers.ops import wait_facts
from workers.states import IncidentState

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


class IncidentChangeList(BoundedChangeList):
    """A change list that puts its rows into words."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        situation = wait_facts.read()
        for line in incident_list.in_words(self.result_list, situation):
            row: Any = line.incident
            row.line, row.now = line, situation.now


class OpenFilter(ConditionFilter):
    title = lazy("state")
    parameter_name = "is"
    choices_of = (
        ("open", lazy("Not resolved"), Q(resolved_at=None)),
        (
            "acknowledged",
            lazy("Taken"),
            Q(resolved_at=None, state=IncidentState.ACKNOWLEDGED),
        ),
        ("snoozed", lazy("Snoozed"), Q(resolved_at=None, state=IncidentState.SNOOZED)),
        ("resolved", lazy("Resolved"), Q(resolved_at__isnull=False)),
    )


class OwnerFilter(admin.SimpleListFilter):
    title = lazy("owner")
    parameter_name = "owner"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("me", lazy("Mine")), ("nobody", lazy("Nobody's"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Incident]) -> QuerySet[Incident]:
        if self.value() == "me":
            return queryset.filter(assignee_id=request.user.pk)
        return queryset.filter(assignee=None) if self.value() == "nobody" else queryset


class CodeFilter(admin.SimpleListFilter):
    title = lazy("code")
    parameter_name = "code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        # The kinds of the code: to get them from the rows would read all rows.
        return [(kind.code, kind.code) for kind in alert_kinds()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Incident]) -> QuerySet[Incident]:
        return queryset.filter(code=self.value()) if self.value() else queryset


@admin.register(Incident)
class IncidentAdmin(RowPageAdmin, ReadOnlyAdmin, ViewListAdmin, LiveListAdmin):
    """Incidents: one line per cause."""

    change_list_template = "admin/workers/incident/list.html"
    change_form_template = "admin/workers/incident/page.html"

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

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("hand-over/", wrap(hand_over_views.show), name="workers_incident_hand_over"),
            path("<int:pk>/csv/", wrap(incident_csv.csv_view), name="workers_incident_csv"),
            path("desk/", wrap(desk), name="workers_incident_desk"),
            path("<int:pk>/sample/", wrap(self.sample_view), name="workers_incident_sample"),
            path("<int:pk>/live/", wrap(self.live_view), name="workers_incident_live"),
            *(
                path(
                    f"<int:pk>/{act.name}/",
                    wrap(act.view()),
                    name=f"workers_incident_{act.name}",
                )
                for act in incident_views.ACTS
            ),
            *super().get_urls(),
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Incident], search_term: str
    ) -> tuple[QuerySet[Incident], bool]:
        term = search_term.strip()
        return (queryset.filter(key__startswith=term) if term else queryset), False

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_desk()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[IncidentChangeList]:
        return IncidentChangeList

    def live_context(self, request: HttpRequest, row: Incident) -> dict[str, Any]:
        """Return what the live part shows."""
        panel = incident_page.panel(row, _number(request, "seen"))
        address = reverse("admin:workers_incident_live", args=[row.pk])
        return {"panel": panel, "live_url": f"{address}?seen={panel.seen}"}

    def row_context(self, request: HttpRequest, row: Incident) -> dict[str, Any]:
        live = self.live_context(request, row)
        members = incident_page.members(live["panel"], _number(request, "page") or 1)
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
            "links": incident_links.links(request, row),
            "may_sample": row.resolved_at is None
            and row.members > SAMPLE
            and incident_links.is_of_processes(row)
            and incident_filter.list_to_resubmit(request) is not None,
            "sample": SAMPLE,
            "agent": row.params.get("agent") or "",
            "may_hold": hold_views.may(request),
        }

    def sample_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask before a job that resubmits a sample of the members, and then the others."""
        row = self.get_object(request, str(pk))
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if not isinstance(row, Incident):
            raise Http404
        model_admin = incident_filter.list_to_resubmit(request)
        if model_admin is None:
            raise PermissionDenied
        # Filter as the list does: the job's page links back to it.
        if request.GET.get("incident") != str(pk):
            return redirect(f"{request.path}?incident={pk}")
        rows = incident_filter.members(
            model_admin.get_queryset(request), model_admin.process_path, pk
        )
        page = model_admin.ask(request, BY_NAME["resubmit"], rows, sample=SAMPLE)
        return page or redirect("admin:workers_incident_change", pk)

    def live_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.get_object(request, str(pk))
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if not isinstance(row, Incident):
            raise Http404
        incident = row
        return lists.live_part(
            request,
            changes.of_desk(),
            "admin/workers/incident/live.html",
            lambda: {
                **self.admin_site.each_context(request),
                **self.live_context(request, incident),
            },
        )

    @admin.display(description=lazy("what broke"))
    def what(self, row: Any) -> str:
        return str(row.line.title)

    @admin.display(description=lazy("state"))
    def standing(self, row: Incident) -> SafeString:
        return state_mark(row)

    @admin.display(description=lazy("members"))
    def affected(self, row: Incident) -> SafeString:
        return badges.labelled(_("members"), members_text(row))

    @admin.display(description=lazy("since"))
    def since(self, row: Any) -> SafeString | str:
        return badges.labelled(_("since"), badges.age(row.opened_at, row.now))

    @admin.display(description=lazy("last"), ordering="-last_at")
    def last(self, row: Any) -> SafeString | str:
        return badges.labelled(_("last"), badges.age(row.last_at, row.now))

    @admin.display(description=lazy("next"))
    def next_act(self, row: Any) -> SafeString | str:
        text = row.line.next_act
        return badges.labelled(_("next:"), text) if text else badges.NOTHING

    @admin.display(description=lazy("owner"))
    def owner(self, row: Incident) -> SafeString | str:
        return badges.labelled(_("owner"), row.assignee) if row.assignee else badges.NOTHING


def desk(request: HttpRequest) -> HttpResponse:
    """Answer a poll of the engine's own front page with the open incidents."""
    if not request.user.has_perm("workers.view_incident"):
        raise PermissionDenied
    template = "admin/workers/incident/front_live.html"
    return lists.live_part(request, changes.of_desk(), template, dict)


def note_url(request: HttpRequest, row: Incident) -> str:
    """Return the URL that a note is posted to; empty if the user may write none."""
    if not request.user.has_perm("workers.note_incident"):
        return ""
    return reverse("admin:workers_incident_note", args=[row.pk])


def state_mark(row: Incident) -> SafeString:
    """Return the state of an incident, and until when it is snoozed."""
    look = LOOKS[IncidentState(row.state)]
    mark = badges.label(row.get_state_display(), look, look)
    if row.snooze_until is None:
        return mark
    return format_html("{} {} {}", mark, _("until"), badges.instant(row.snooze_until))


def members_text(row: Incident) -> SafeString | str:
    """Return how many members an incident has and had, and what they are worth."""
    count = str(row.members) if row.resolved_at is None else "0"
    if row.total != row.members:
        count = _("%(n)s of %(total)s") % {"n": count, "total": row.total}
    if not row.money:
        return count
    worth = number_format(row.money, 2, force_grouping=True)
    return format_html('{} <span class="sas-agent">{} {}</span>', count, _("worth"), worth)


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
