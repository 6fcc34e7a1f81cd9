"""The engine's own list and page of processes, whatever they are about.  Read-only."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workers.definitions import registry
from workers.desk.admin import causes, filters, person, process_list, search, subjects, waiting
from workers.desk.admin.actions import VERBS
from workers.desk.admin.csv_files import PROCESS_HEADS, process_cells
from workers.desk.admin.lists import View, column
from workers.desk.admin.process_list import PROCESS_FILTERS, ProcessListAdmin
from workers.models import Process


@admin.register(Process)
class ProcessAdmin(ProcessListAdmin):
    """Processes, joined with their steps."""

    process_path = ""
    live_template = "admin/workers/process/live.html"
    list_display = (
        *("subject", "workflow", "state_mark", "current_step"),
        *("failures", "complete_by", "why", "age"),
    )
    never_asked = ("input", "lane", "limit_values", "exclusive")
    # By columns with an index; ids are in the order of time.
    sortable_by = ("age",)
    list_filter = (*PROCESS_FILTERS, filters.WorkflowFilter)
    search_fields = ("subject",)
    search_help_text = _(
        "Beginning of the subject, id, an attribute, submission key, a step's idempotency key, or, "
        "of the newest processes, a service's reference; and words: "
        "state:error customer=7 agent:payment.* step: fault: needs: since:1h paused"
    )
    ordering = ("-id",)
    csv_heads = PROCESS_HEADS
    acts = VERBS

    def views(self) -> list[View]:
        return [
            ("waiting", "waiting/", waiting.show),
            ("causes", "causes/", causes.show),
            ("person", "person/", person.show),
            *super().views(),
        ]

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        named = ["known_by"] if registry.attributes() else []
        return [*self.list_display[:1], *named, *self.list_display[1:]]

    def found_by(self, request: HttpRequest, term: str) -> Q:
        return search.condition(term)

    def csv_lines(self, rows: list[Process], *, is_personal: bool) -> Iterable[Sequence[Any]]:
        return process_cells(rows, is_personal=is_personal)

    def process_of(self, row: Process) -> Process:
        return row

    def process_id_at(self, pk: int) -> int | None:
        return pk

    def page_context(self, request: HttpRequest, row: Process) -> dict[str, Any]:
        subject_url = subjects.pages([row.pk]).get(row.pk)
        return {**super().page_context(request, row), "subject_url": subject_url}

    known_by = column(_("attributes"), process_list.attributes_of)
    state_mark = column(_("state"), process_list.state_of, "state")
    age = column(_("age"), process_list.age_of, "-id")
