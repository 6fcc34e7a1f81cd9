"""How many rows of several kinds there are, and since when: one statement for all.

Lists that wait for a person register their pile, which the index and the hand-over sheet read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, DecimalField, Min, QuerySet, Sum, Value
from django.db.models.functions import Cast

from workers.desk.admin.wording import Text


@dataclass(frozen=True, slots=True)
class Kind:
    """Rows to count: the column that says since when a row is there, and what it is worth."""

    rows: QuerySet[Any]
    since: str
    amount: str = ""


@dataclass(frozen=True, slots=True)
class Pile:
    count: int = 0
    #: None if there is none.
    oldest: datetime | None = None
    #: None if there is none, or no column says what a row is worth.
    amount: Decimal | None = None


@dataclass(frozen=True, slots=True)
class WaitingPile:
    """A pile that waits for a person, as the hand-over sheet shows it."""

    name: str
    title: Text
    kind: Callable[[], Kind]
    #: The page that lists it: its name, its query, and the permission it needs.
    page: str
    query: str
    permission: str


_waiting: dict[str, WaitingPile] = {}


def register(pile: WaitingPile) -> WaitingPile:
    """Add a pile to the hand-over sheet; for the module that registers its list."""
    _waiting[pile.name] = pile
    return pile


def waiting() -> list[WaitingPile]:
    """Return the piles that wait for a person, sorted by name."""
    return [pile for _name, pile in sorted(_waiting.items())]


def count(kinds: Mapping[str, Kind]) -> dict[str, Pile]:
    """Count rows by kind, including kinds without rows."""
    money = DecimalField(max_digits=16, decimal_places=2)
    parts = [
        kind.rows.order_by()
        .annotate(pile=Value(name))
        .values("pile")
        .annotate(
            count=Count("pk"),
            oldest=Min(kind.since),
            worth=Sum(kind.amount) if kind.amount else Cast(Value(None), money),
        )
        .values_list("pile", "count", "oldest", "worth")
        for name, kind in kinds.items()
    ]
    if not parts:
        return {}
    first, *others = parts
    rows = first.union(*others, all=True) if others else first
    return dict.fromkeys(kinds, Pile()) | {name: Pile(*facts) for name, *facts in rows}
