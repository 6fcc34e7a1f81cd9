"""The stretch of time that a health page shows, and its columns.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from django.utils.translation import gettext_lazy as _

from workers.desk.admin.wording import Text
from workers.desk.rules.minutes import begin
from workers.desk.states import Span

T = TypeVar("T")


#: So many columns are shown though fewer have figures: one alone would look like a whole chart.
LEAST_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class Range:
    """A length of time to look back: its name in URLs, and the span of its figures."""

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
    """Return the range with this name; the first if there is none."""
    return next((range_ for range_ in RANGES if range_.name == name), RANGES[0])


@dataclass(frozen=True, slots=True)
class Frame:
    """A range that ends where the figures end."""

    range: Range
    #: The end of the last minute that was rolled up.
    until: datetime
    #: When figures begin, if that is within the range; the frame is cut there.
    first: datetime | None = None

    def cut(self, first: datetime | None) -> "Frame":
        """Return the frame without the columns before the first figure: a few must be readable."""
        if first is None or first < self.begin + self.range.column:
            return self
        return replace(self, first=first)

    @property
    def end(self) -> datetime:
        """Return when the last column ends; it may not be over yet."""
        last = begin(self.until - timedelta(microseconds=1), int(self._column_seconds))
        return last + self.range.column

    @property
    def begin(self) -> datetime:
        return self.end - self._count * self.range.column

    @property
    def columns(self) -> list[datetime]:
        """Return when each column begins."""
        first = self.begin
        return [first + index * self.range.column for index in range(self._count)]

    @property
    def _count(self) -> int:
        if self.first is None:
            return self.range.columns
        # Rounded up to whole columns.
        return max(-((self.first - self.end) // self.range.column), LEAST_COLUMNS)

    @property
    def _column_seconds(self) -> float:
        return self.range.column.total_seconds()

    def minutes(self, column: datetime) -> float:
        """Return for how many minutes of a column there are figures."""
        over = min(column + self.range.column, self.until) - column
        return max(over.total_seconds(), 60.0) / 60

    def gathered(self, rows: Sequence[tuple[datetime, T]]) -> list[list[T]]:
        """Return the rows of each column; rows outside the frame are left out."""
        columns: list[list[T]] = [[] for _column in range(self._count)]
        first, width = self.begin, self.range.column
        for at, row in rows:
            index = (at - first) // width
            if 0 <= index < len(columns):
                columns[index].append(row)
        return columns
