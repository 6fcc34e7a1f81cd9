"""The stretch of time that a health page shows, and the columns that it falls into.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.utils.translation import gettext_lazy as _

from workers.desk.admin.wording import Text
from workers.desk.rules.minutes import begin
from workers.desk.states import Span

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Range:
    """A length of time to look back: its name in addresses, and what it is drawn from."""

    name: str
    label: Text
    span: Span
    #: How wide a column is, and how many there are.
    column: timedelta
    columns: int


RANGES = (
    Range("1h", _("1 hour"), Span.MINUTE, timedelta(minutes=1), 60),
    Range("24h", _("24 hours"), Span.TEN_MINUTES, timedelta(minutes=10), 144),
    Range("30d", _("30 days"), Span.HOUR, timedelta(hours=6), 120),
)


def range_named(name: str) -> Range:
    """Return the range of a name; for any other, the first."""
    return next((one for one in RANGES if one.name == name), RANGES[0])


@dataclass(frozen=True, slots=True)
class Frame:
    """A range that ends where the figures end."""

    range: Range
    #: Up to where minutes were rolled up.
    until: datetime

    @property
    def end(self) -> datetime:
        """Return when the last column ends; it may not be over yet."""
        last = begin(self.until - timedelta(microseconds=1), int(self._column_seconds))
        return last + self.range.column

    @property
    def begin(self) -> datetime:
        return self.end - self.range.columns * self.range.column

    @property
    def columns(self) -> list[datetime]:
        """Return when each column begins."""
        first = self.begin
        return [first + place * self.range.column for place in range(self.range.columns)]

    @property
    def _column_seconds(self) -> float:
        return self.range.column.total_seconds()

    def minutes(self, column: datetime) -> float:
        """Return for how many minutes of a column there are figures."""
        over = min(column + self.range.column, self.until) - column
        return max(over.total_seconds(), 60.0) / 60

    def gathered(self, rows: Sequence[tuple[datetime, T]]) -> list[list[T]]:
        """Return rows by the column that each lies in; those outside are left out."""
        columns: list[list[T]] = [[] for _column in range(self.range.columns)]
        first, width = self.begin, self.range.column
        for at, row in rows:
            place = (at - first) // width
            if 0 <= place < len(columns):
                columns[place].append(row)
        return columns
