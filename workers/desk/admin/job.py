"""Jobs: every act on many processes, who started it and why, its progress and its results."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges, changes, job_page, masking
from workers.desk.admin.bulk.kinds import KINDS, label_of
from workers.desk.admin.changes import Marker
from workers.desk.admin.list_filter import by_column, list_filter
from workers.desk.admin.lists import LiveListAdmin, View, column, live_part, set_now
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
        live = ("live", "<int:pk>/live/", self.live_view)
        return [live, ("csv", "<int:pk>/csv/", job_page.csv_view), *super().views()]

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

    def live_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Answer a poll with the live part, or with 204 if nothing has changed since."""
        job = self.get_object(request, str(pk))
        if not self.has_view_permission(request, job):
            raise PermissionDenied
        if not isinstance(job, BulkJob):
            raise Http404
        job_now = job
        return live_part(
            request,
            job_page.marker(job),
            "admin/workers/job/live.html",
            lambda: {
                **self.admin_site.each_context(request),
                **job_page.context(request, job_now),
            },
        )

    number = column(lazy("job"), lambda row: f"{row.pk} {label_of(row.verb)}")
    state_mark = column(lazy("state"), job_page.state_mark)
    progress = column(
        lazy("progress"), lambda row: badges.labelled(_("progress"), job_page.progress(row))
    )
    why = column(lazy("why"), lambda row: badges.message(row.reason))
    age = column(lazy("age"), lambda row: badges.age(row.created_at, row.now))
