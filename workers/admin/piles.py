"""How many rows of several kinds there are, and since when: one statement for all."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, QuerySet, Value


@dataclass(frozen=True, slots=True)
class Counted:
    count: int = 0
    #: None: there is none.
    oldest: datetime | None = None


def counted(kinds: Mapping[str, tuple[QuerySet[Any], str]]) -> dict[str, Counted]:
    """Count rows by kind; each kind is a query and the column that says since when a row is there.

    A kind without a row is in the answer, too.
    """
    parts = [
        rows.order_by()
        .annotate(kind=Value(kind))
        .values("kind")
        .annotate(count=Count("pk"), oldest=Min(since))
        .values_list("kind", "count", "oldest")
        for kind, (rows, since) in kinds.items()
    ]
    if not parts:
        return {}
    first, *others = parts
    rows = first.union(*others, all=True) if others else first
    return dict.fromkeys(kinds, Counted()) | {
        kind: Counted(count, oldest) for kind, count, oldest in rows
    }
