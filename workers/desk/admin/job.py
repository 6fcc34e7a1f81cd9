"""Jobs: every act on many processes, who started it and why, its progress and its results."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges, changes, job_page, job_views, masking
from workers.desk.admin.bulk.kinds import KINDS, label_of
from workers.desk.admin.changes import Marker
from workers.desk.admin.lists import ClockedChangeList, LiveListAdmin, live_part
from workers.desk.admin.row_page import RowPageAdmin
from workers.desk.models import BulkJob
from workers.desk.rules.job_verbs import STEERING


class VerbFilter(admin.SimpleListFilter):
    title = lazy("what was done")
    parameter_name = "verb"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(bulk.name, bulk.label) for bulk in KINDS]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(verb=self.value()) if self.value() else queryset


class JobChangeList(ClockedChangeList):
    """A change list that adds the time to its rows, and masks them."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = masking.conceal_words(self.result_list, "reason")


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

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        acts = [
            path(f"<int:pk>/{act}/", wrap(job_views.STEERS[act].view()), name=f"desk_bulkjob_{act}")
            for act in STEERING
        ]
        live = path("<int:pk>/live/", wrap(self.live_view), name="desk_bulkjob_live")
        csv = path("<int:pk>/csv/", wrap(job_views.csv_view), name="desk_bulkjob_csv")
        return [*acts, live, csv, *super().get_urls()]

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_jobs()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ClockedChangeList]:
        return JobChangeList

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let the user who started a job see it, too."""
        return super().has_view_permission(request, obj) or (
            isinstance(obj, BulkJob) and job_views.is_own(request, obj)
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

    @admin.display(description=lazy("job"))
    def number(self, row: BulkJob) -> str:
        return f"{row.pk} {label_of(row.verb)}"

    @admin.display(description=lazy("state"))
    def state_mark(self, row: BulkJob) -> SafeString:
        return job_page.state_mark(row)

    @admin.display(description=lazy("progress"))
    def progress(self, row: BulkJob) -> SafeString:
        return format_html(
            '<span class="sas-label">{} </span>{}', _("progress"), job_page.progress(row)
        )

    @admin.display(description=lazy("why"))
    def why(self, row: BulkJob) -> SafeString:
        return format_html('<span class="sas-message">{}</span>', row.reason)

    @admin.display(description=lazy("age"))
    def age(self, row: Any) -> SafeString | str:
        return badges.age(row.created_at, row.now)
