"""The engine's own list and page of processes, whatever they are about.  Read-only."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import (
    causes,
    columns,
    filters,
    job_filter,
    person,
    search,
    snapshot,
    subjects,
    wait_filters,
    waiting,
)
from workers.desk.admin.actions import VERBS
from workers.desk.admin.actions.page import view_of
from workers.desk.admin.bulk.lists import BulkListAdmin
from workers.desk.admin.columns import ProcessColumns
from workers.desk.admin.csv_lists import PROCESS_HEADS, CsvListAdmin, process_cells
from workers.desk.admin.incident_filter import IncidentFilter
from workers.desk.admin.lists import LiveListAdmin, StandingChangeList
from workers.desk.admin.page import ProcessPageAdmin
from workers.desk.admin.query_bar import QueryBarAdmin
from workers.desk.admin.view_lists import ViewListAdmin
from workers.models import Process


@admin.register(Process)
class ProcessAdmin(
    ProcessColumns,
    ReadOnlyAdmin,
    ProcessPageAdmin,
    BulkListAdmin,
    CsvListAdmin,
    QueryBarAdmin,
    ViewListAdmin,
    LiveListAdmin,
):
    """Processes, joined with their steps, and what may be done to them."""

    process_path = ""
    live_template = "admin/workers/process/live.html"
    list_display = (
        "subject",
        "workflow",
        "state_mark",
        "current_step",
        "failures",
        "complete_by",
        "why",
        "age",
    )
    never_asked = ("input", "lane")
    # By columns with an index; ids are in the order of time.
    sortable_by = ("age",)
    list_filter = (
        filters.NeedsSomeoneFilter,
        filters.StateFilter,
        filters.CurrentStepFilter,
        filters.AgentInErrorFilter,
        filters.FaultFilter,
        causes.CauseFilter,
        IncidentFilter,
        wait_filters.PausedFilter,
        wait_filters.AtAgentFilter,
        wait_filters.WithAgentFilter,
        wait_filters.SinceFilter,
        job_filter.JobFilter,
        filters.WorkflowFilter,
    )
    show_facets = ShowFacets.ALWAYS
    search_fields = ("subject",)
    search_help_text = _(
        "Beginning of the subject, id, a step's idempotency key, or, of the newest processes, "
        "a service's reference; and words: "
        "state:error agent:payment.* step: fault: needs: since:1h paused"
    )
    ordering = ("-id",)
    csv_heads = PROCESS_HEADS

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        verbs = [
            path(
                f"<int:pk>/{verb.address}",
                wrap(view_of(verb)),
                name=f"workers_process_{verb.name}",
            )
            for verb in VERBS
        ]
        listing = path("waiting/", wrap(waiting.show), name="workers_process_waiting")
        by_cause = path("causes/", wrap(causes.show), name="workers_process_causes")
        by_person = path("person/", wrap(person.show), name="workers_process_person")
        return [*verbs, listing, by_cause, by_person, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Process]:
        return snapshot.with_steps(super().get_queryset(request))

    def found_by(self, request: HttpRequest, term: str) -> Q:
        return search.condition(term)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return StandingChangeList

    def csv_lines(self, rows: list[Process], *, is_personal: bool) -> Iterable[Sequence[Any]]:
        return process_cells(rows, is_personal=is_personal)

    def process_of(self, row: Process) -> Process:
        return row

    def process_id_at(self, pk: int) -> int | None:
        return pk

    def page_context(self, request: HttpRequest, row: Process) -> dict[str, Any]:
        subject_url = subjects.pages([row.pk]).get(row.pk)
        return {**super().page_context(request, row), "subject_url": subject_url}

    @admin.display(description=_("state"), ordering="state")
    def state_mark(self, row: Process) -> SafeString:
        return columns.state_of(row)

    @admin.display(description=_("age"), ordering="-id")
    def age(self, row: Process) -> SafeString | str:
        return columns.age_of(row)
