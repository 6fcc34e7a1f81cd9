"""Jobs: every act on many processes, who started it and why, its progress and its results."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges, changes, job_page, masking
from workers.desk.admin.bulk.kinds import KINDS, label_of
from workers.desk.admin.changes import Marker
from workers.desk.admin.list_filter import by_column, list_filter
from workers.desk.admin.lists import LiveListAdmin, View, column, set_now
from workers.desk.admin.row_page import RowPageAdmin
from workers.desk.models import BulkJob
from workers.desk.rules.job_verbs import STEERING

VerbFilter = list_filter(
    "verb",
    lazy("what was done"),
    lambda _filter: [(bulk.name, bulk.label) for bulk in KINDS],
    by_column("verb"),
    is_strict=False,
)


@admin.register(BulkJob)
class BulkJobAdmin(RowPageAdmin, ReadOnlyAdmin, LiveListAdmin):
    """Jobs, the newest first, and the page of each."""

    change_form_template = "admin/workers/job/page.html"
    live_template = "admin/workers/job/live.html"
    list_display = ("number", "state_mark", "progress", "actor", "why", "age")
    list_display_links = ("number",)
    list_filter: ClassVar = ("state", VerbFilter)
    never_asked = ("reason", "source", "params")
    search_fields = ("actor",)
    search_help_text = lazy("Who")
    sortable_by = ()
    ordering = ("-id",)
    acts = tuple(job_page.STEERS[name] for name in STEERING)

    def views(self) -> list[View]:
        return [("csv", "<int:pk>/csv/", job_page.csv_view), *super().views()]

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_jobs()

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        masking.conceal_words(rows, "reason")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let the user who started a job see it, too."""
        return super().has_view_permission(request, obj) or (
            isinstance(obj, BulkJob) and job_page.is_own(request, obj)
        )

    def row_context(self, request: HttpRequest, row: BulkJob) -> dict[str, Any]:
        title = _("Job %(n)d: %(verb)s") % {"n": row.pk, "verb": label_of(row.verb)}
        return {**job_page.context(request, row), "title": title}

    def live_marker(self, row: BulkJob) -> Marker:
        return job_page.marker(row)

    def live_context(self, request: HttpRequest, row: BulkJob) -> dict[str, Any]:
        return job_page.context(request, row)

    number = column(lazy("job"), lambda row: f"{row.pk} {label_of(row.verb)}")
    state_mark = column(lazy("state"), job_page.state_mark)
    progress = column(
        lazy("progress"), lambda row: badges.labelled(_("progress"), job_page.progress(row))
    )
    why = column(lazy("why"), lambda row: badges.message(row.reason))
    age = column(lazy("age"), lambda row: badges.age(row.created_at, row.now))
