"""Rows as CSV files: streamed, no cell a formula, masked without the right; lists with one."""

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from workers.desk.admin import lists, masking, showing, snapshot
from workers.desk.admin.actions.page import actor
from workers.desk.admin.lists import AskableListAdmin, View, names_person
from workers.desk.admin.masking import STARS, UNMASKED
from workers.models import Process
from workers.ops import wait_facts
from workers.rules import attributes
from workers.store import journal
from workers.store.attributes import of_processes

#: Maximum rows of a file: its keys are held in memory while it is sent.
LONGEST = 100_000
#: Rows read from the database at a time.
READ_AT_ONCE = 1000
#: Where a spreadsheet would see a formula: at the beginning of a cell, or after a character that
#: separates cells in locales without comma-separated files.  Some spreadsheets trim blanks
#: and invisible characters before they look.
FORMULA = re.compile(
    r"(^|[;|\t\n]|\r\n?)"
    r"(?=[\s\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]*"
    r"[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])"
)
#: Without it Excel does not recognize UTF-8.
BYTE_ORDER_MARK = "\ufeff"
#: The form field that asks for personal data in the file.
PERSONAL = "personal"


class _Line:
    """A file for the csv module whose ``write`` returns the text."""

    def write(self, text: str) -> str:
        return text


def asks_personal(request: HttpRequest) -> bool:
    """Return whether to include personal data in a file; refused without the right.

    Only by POST, so that no link leads to it.
    """
    if request.method != "POST" or PERSONAL not in request.POST:
        return False
    if not showing.may(request):
        raise PermissionDenied
    return True


def answer(
    request: HttpRequest,
    name: str,
    heads: Sequence[Any],
    lines: Iterable[Sequence[Any]],
    **detail: Any,
) -> StreamingHttpResponse:
    """Journal the download of a file, then stream it.

    ``detail`` goes into the journal; a row is read when its line is sent.
    """
    personal = True if asks_personal(request) else None
    journal.record_act("exported", {**detail, "personal": personal}, actor=actor(request))
    writer = csv.writer(_Line())
    encoded = (
        writer.writerow([plain(cell) for cell in line]) for line in _with_heads(heads, lines)
    )
    rows = itertools.chain([BYTE_ORDER_MARK], encoded)
    return StreamingHttpResponse(
        rows,
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{name}.csv"',
            "Cache-Control": "no-store",
        },
    )


def _with_heads(heads: Sequence[Any], lines: Iterable[Sequence[Any]]) -> Iterable[Sequence[Any]]:
    yield heads
    yield from lines


def plain(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if cell is None or isinstance(cell, int | float | Decimal):
        return cell
    return FORMULA.sub(r"\1'", str(cell))


#: Columns of a process, in the file of any list of rows that each have one.
PROCESS_HEADS = (
    *("process", "subject", "workflow", "state", "paused_at", "created_at", "finished_at"),
    *("step", "step_state", "agent", "failures", "fault_kind", "fault_code", "fault"),
    "attributes",
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
        is_personal = asks_personal(request)
        list_url = self.url_of("changelist")
        if not lists.asks_what_can_be_asked(request):
            return redirect(f"{list_url}?{ERROR_FLAG}=1")
        try:
            rows = self.get_changelist_instance(request).queryset
        except (IncorrectLookupParameters, OverflowError):
            return redirect(f"{list_url}?{ERROR_FLAG}=1")
        keys = list(rows.values_list("pk", flat=True)[: LONGEST + 1])
        if len(keys) > LONGEST:
            text = _("A file has %(n)s rows at most. Narrow the list, by time for one.")
            messages.error(request, text % {"n": f"{LONGEST:,}"})
            return lists.back_to(request, list_url)
        name = str(self.opts.verbose_name_plural).replace(" ", "-")
        return answer(
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
        for begin in range(0, len(keys), READ_AT_ONCE):
            chunk = keys[begin : begin + READ_AT_ONCE]
            rows = self.get_queryset(request).in_bulk(chunk)
            yield from self.csv_lines(
                [rows[key] for key in chunk if key in rows], is_personal=is_personal
            )


def _without_search(request: HttpRequest) -> str:
    """Return a list's query with what may name a person masked."""
    pairs = ((name, value) for name, values in request.GET.lists() for value in values)
    return urlencode([(pair[0], STARS if names_person(*pair) else pair[1]) for pair in pairs])


def process_cells(processes: Sequence[Process], *, is_personal: bool) -> Iterator[list[Any]]:
    """Return the cells of ``PROCESS_HEADS`` for processes that were fetched with their steps."""
    ids = [process.pk for process in processes]
    masks = masking.of_processes(ids)
    if is_personal:
        masks = dict.fromkeys(masks, UNMASKED)
    situation, texts = wait_facts.read(processes, masks=masks), of_processes(processes)
    for process in processes:
        masking.conceal_steps(process, masks[process.pk])
        standing = snapshot.of(process, situation)
        shown = attributes.masked(texts.get(process.pk, {}), masks[process.pk])
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
            " ".join(f"{name}={value}" for name, value in shown.items()),
        ]


def instant(at: datetime | None) -> str:
    """Return an instant in ISO 8601; empty for None."""
    return at.isoformat() if at else ""
