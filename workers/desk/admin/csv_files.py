"""Rows as a CSV file: sent as they are read, no cell a formula, masked without the right."""

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

#: Rows of one file at most: its keys are held while it is sent.
LONGEST = 100_000
#: Rows read from the database at a time.
READ_AT_ONCE = 1000
#: Where a formula would begin to a spreadsheet: at the beginning of a cell, and of what becomes one
#: where cells are separated by something else than commas, as they are in half of the world.  Some
#: trim blanks, and what is none to read, before they look.
FORMULA = re.compile(
    r"(^|[;|\t\n]|\r\n?)"
    r"(?=[\s\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]*"
    r"[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])"
)
#: Without it Excel reads UTF-8 as something else.
BYTE_ORDER_MARK = "\ufeff"
#: What a form sends to have personal data in the file.
PERSONAL = "personal"


class _Line:
    """A file to the csv module that returns what is written to it."""

    def write(self, text: str) -> str:
        return text


def is_personal(request: HttpRequest) -> bool:
    """Say whether a file is to have personal data; refused without the right.

    By POST alone: nobody is led to it by a link.
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
    """Journal that somebody downloads a file, then send it.

    ``detail`` says of what; a row is read when its line is sent.
    """
    personal = True if is_personal(request) else None
    acts.record_act("exported", {**detail, "personal": personal}, actor=actor(request))
    writer = csv.writer(_Line())
    written = (writer.writerow([plain(cell) for cell in line]) for line in _all(heads, lines))
    rows = itertools.chain([BYTE_ORDER_MARK], written)
    return StreamingHttpResponse(
        rows,
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{name}.csv"',
            "Cache-Control": "no-store",
        },
    )


def _all(heads: Sequence[Any], lines: Iterable[Sequence[Any]]) -> Iterable[Sequence[Any]]:
    yield heads
    yield from lines


def plain(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if cell is None or isinstance(cell, int | float | Decimal):
        return cell
    return FORMULA.sub(r"\1'", str(cell))
