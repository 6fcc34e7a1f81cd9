"""Lists whose rows, as they are filtered, can be downloaded as a CSV file."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ERROR_FLAG, SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from workers.desk.admin import csv_files, lists, masking, showing, snapshot
from workers.desk.admin.lists import AskableListAdmin, View
from workers.desk.admin.masking import STARS, UNMASKED
from workers.models import Process
from workers.ops import wait_facts

#: Columns of a process, in the file of any list of rows that each have one.
PROCESS_HEADS = (
    *("process", "subject", "workflow", "state", "paused_at", "created_at", "finished_at"),
    *("step", "step_state", "agent", "failures", "fault_kind", "fault_code", "fault"),
)


class CsvListAdmin(AskableListAdmin):
    """A list with a file of its rows at ``csv/`` below it, which takes the list's own filters."""

    csv_heads: Sequence[str]

    def csv_lines(self, rows: list[Any], *, is_personal: bool) -> Iterable[Sequence[Any]]:
        """Return a line for each row; rows were read as for a page of the list."""
        raise NotImplementedError

    def views(self) -> list[View]:
        view = require_http_methods(["GET", "POST"])(self._csv_view)
        return [("csv", "csv/", view), *super().views()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        query = request.GET.urlencode()
        context = {
            "csv_url": self.url_of("csv") + (f"?{query}" if query else ""),
            "may_export_personal": showing.may(request),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    def _csv_view(self, request: HttpRequest) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        is_personal = csv_files.is_personal(request)
        list_url = self.url_of("changelist")
        if not lists.asks_what_can_be_asked(request):
            return redirect(f"{list_url}?{ERROR_FLAG}=1")
        try:
            rows = self.get_changelist_instance(request).queryset
        except (IncorrectLookupParameters, OverflowError):
            return redirect(f"{list_url}?{ERROR_FLAG}=1")
        keys = list(rows.values_list("pk", flat=True)[: csv_files.LONGEST + 1])
        if len(keys) > csv_files.LONGEST:
            text = _("A file has %(n)s rows at most. Narrow the list, by time for one.")
            messages.error(request, text % {"n": f"{csv_files.LONGEST:,}"})
            return lists.back_to(request, list_url)
        name = str(self.opts.verbose_name_plural).replace(" ", "-")
        return csv_files.answer(
            request,
            name,
            self.csv_heads,
            self._csv_lines(request, keys, is_personal=is_personal),
            list=self.opts.label_lower,
            query=_without_search(request),
            rows=len(keys),
        )

    def _csv_lines(
        self, request: HttpRequest, keys: list[Any], *, is_personal: bool
    ) -> Iterator[Sequence[Any]]:
        for begin in range(0, len(keys), csv_files.READ_AT_ONCE):
            chunk = keys[begin : begin + csv_files.READ_AT_ONCE]
            rows = self.get_queryset(request).in_bulk(chunk)
            yield from self.csv_lines(
                [rows[key] for key in chunk if key in rows], is_personal=is_personal
            )


def _without_search(request: HttpRequest) -> str:
    """Return a list's query with its search masked, which may be a person's name."""
    pairs = [(name, value) for name, values in request.GET.lists() for value in values]
    return urlencode([(name, STARS if name == SEARCH_VAR else value) for name, value in pairs])


def process_cells(processes: Sequence[Process], *, is_personal: bool) -> Iterator[list[Any]]:
    """Return the cells of ``PROCESS_HEADS`` for processes that were fetched with their steps."""
    ids = [process.pk for process in processes]
    masks = masking.of_processes(ids)
    if is_personal:
        masks = dict.fromkeys(masks, UNMASKED)
    situation = wait_facts.read(processes, masks=masks)
    for process in processes:
        masking.conceal_steps(process, masks[process.pk])
        standing = snapshot.of(process, situation)
        current, fault = standing.current, standing.fault or {}
        yield [
            process.pk,
            process.subject,
            process.workflow,
            process.state,
            instant(process.paused_at),
            instant(process.created_at),
            instant(process.finished_at),
            *((current.name, current.state, current.agent) if current else ("", "", "")),
            current.failure_count if current else "",
            *(fault.get(part) or "" for part in ("kind", "code", "message")),
        ]


def instant(at: datetime | None) -> str:
    """Return an instant in ISO 8601; empty for None."""
    return at.isoformat() if at else ""
