"""Lists whose rows each have a process: verbs as actions, with a page that asks first.

The page makes a job of the rows it showed, and redirects to the job's page.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from workers.conf import sas
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.bulk import selection
from workers.desk.admin.bulk.kinds import KINDS, BulkVerb
from workers.desk.admin.bulk.selection import JobForm, Selection
from workers.desk.admin.lists import AskableListAdmin, LiveMedia, View, back_to, without_search
from workers.desk.models import BulkJob
from workers.desk.operate import jobs

Action = Callable[[admin.ModelAdmin, HttpRequest, QuerySet[Any]], HttpResponse | None]
#: Ids per database query.
ASKED_AT_ONCE = 1000


class BulkListAdmin(AskableListAdmin):
    """A list with the bulk verbs that the user may use; ``…/pause/`` and so on make the job."""

    #: Leads from a row to its process: ``process__``, or nothing.
    process_path: str
    #: The app's own permissions in place of a verb's, by the verb's name.
    bulk_permissions: ClassVar[dict[str, str]] = {}

    def bulk_facts(self, rows: list[Any]) -> list[tuple[str, str]]:
        """Return additional facts about the rows that will change: (name, value)."""
        return []

    def views(self) -> list[View]:
        ours = [(f"{bulk.name}_selected", f"{bulk.name}/", self._view_of(bulk)) for bulk in KINDS]
        return [*ours, *super().views()]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions: dict[str, Any] = super().get_actions(request)
        for bulk in KINDS:
            if self.may(request, bulk):
                name = f"{bulk.name}_selected"
                actions[name] = (_action_of(bulk), name, str(bulk.description))
        return actions

    def may(self, request: HttpRequest, bulk: BulkVerb) -> bool:
        """Return whether the user may do this to the rows of this list."""
        return bool(request.user.has_perm(self.bulk_permissions.get(bulk.name) or bulk.permission))

    def _view_of(self, bulk: BulkVerb) -> Callable[[HttpRequest], HttpResponse]:
        @require_POST
        def view(request: HttpRequest) -> HttpResponse:
            return self._start(request, bulk)

        return view

    def _start(self, request: HttpRequest, bulk: BulkVerb) -> HttpResponse:
        """Make a job of the rows that were shown; it changes each only if it has not moved."""
        if not self.may(request, bulk):
            raise PermissionDenied
        form = JobForm(request.POST)
        valid = form.is_valid()
        sequences = self._in_this_list(request, form.cleaned_data.get("seen", {}))
        if not valid:
            rows = self.get_queryset(request).filter(
                **{f"{self.process_path}pk__in": list(sequences)[:ASKED_AT_ONCE]}
            )
            return self.bulk_page(request, form, selection.select(rows, self.process_path, bulk))
        if not sequences:
            messages.warning(request, _("None of these processes is in this list any more."))
            return back_to(request, self.url_of("changelist"))
        reason = form.cleaned_data["reason"]
        job_id = jobs.start(
            bulk.name,
            sequences,
            actor=actor(request),
            reason=reason,
            source={"list": self.opts.label_lower, "query": without_search(request.GET)},
            rate_per_second=form.cleaned_data["rate"],
            sample=form.cleaned_data["sample"] or 0,
        )
        job = BulkJob.objects.get(pk=job_id)
        write_log(request, job, f"{bulk.label}: {job.total}.", reason)
        return redirect("admin:desk_bulkjob_change", job_id)

    def _in_this_list(self, request: HttpRequest, sequences: dict[int, int]) -> dict[int, int]:
        """Keep the processes that this list has: its permission covers no others."""
        ids, pk = list(sequences), f"{self.process_path}pk"
        rows = self.get_queryset(request).prefetch_related(None).order_by()
        kept: dict[int, int] = {}
        for begin in range(0, len(ids), ASKED_AT_ONCE):
            part = rows.filter(**{f"{pk}__in": ids[begin : begin + ASKED_AT_ONCE]})
            kept |= {
                process_id: sequences[process_id] for process_id in part.values_list(pk, flat=True)
            }
        return kept

    def ask(
        self, request: HttpRequest, bulk: BulkVerb, rows: QuerySet[Any], **initial: Any
    ) -> HttpResponse | None:
        """Return the page that confirms a job on rows; None if it would change none of them."""
        selected = selection.select(rows, self.process_path, bulk)
        if not selected.seen:
            why = selected.left_out[0][1] if selected.left_out else ""
            text = _("%(verb)s: nothing of what was selected would change. %(why)s")
            messages.warning(request, text % {"verb": bulk.label, "why": why})
            return None
        return self.bulk_page(
            request, JobForm(initial={"seen": selected.frozen, **initial}), selected
        )

    def bulk_page(self, request: HttpRequest, form: JobForm, selected: Selection) -> HttpResponse:
        """Show what will change and what will not, and ask for the reason."""
        query = request.GET.urlencode()
        context = {
            **self.admin_site.each_context(request),
            "title": str(selected.bulk.description)
            % {"verbose_name_plural": self.opts.verbose_name_plural},
            "form": form,
            "selection": selected,
            "warnings": selected.warnings(),
            "verb": selected.bulk.verb,
            "facts": self.bulk_facts([row for row, _steps in selected.rows]),
            "limit": int(sas.job_limit),
            "query": f"?{query}" if query else "",
            "list_url": self.url_of("changelist"),
            "change_name": f"admin:{self.opts.app_label}_{self.opts.model_name}_change",
            "post_url": self.url_of(f"{selected.bulk.name}_selected"),
            "media": forms.Media(LiveMedia),
            "opts": self.opts,
        }
        status = 400 if form.is_bound else 200
        return TemplateResponse(request, "admin/workers/bulk.html", context, status=status)


def _action_of(bulk: BulkVerb) -> Action:
    def action(
        model_admin: Any, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponse | None:
        return model_admin.ask(request, bulk, queryset)  # type: ignore[no-any-return]

    return action
