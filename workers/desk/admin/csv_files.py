"""Rows as a CSV file: streamed, with no cell a formula, masked without the right."""

import csv
import itertools
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, StreamingHttpResponse

from workers.desk.admin import showing
from workers.desk.admin.actions.page import actor
from workers.store import acts

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


def is_personal(request: HttpRequest) -> bool:
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
    personal = True if is_personal(request) else None
    acts.record_act("exported", {**detail, "personal": personal}, actor=actor(request))
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
