"""What the health page shows: a stretch of time in columns, and an agent's figures in each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from django.utils.translation import gettext_lazy as _

from workers.desk.admin.wording import Text
from workers.desk.rules import latency
from workers.desk.rules.minutes import (
    EVERY_PROCESS,
    MOVES,
    RESULTS,
    Figures,
    Level,
    begin,
    summed,
    worst,
)
from workers.desk.states import Span
from workers.desk.store import gauges, minutes
from workers.states import BreakerState

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


SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
#: Percentiles by their names; None where nothing was measured.
Percentiles = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Column:
    """One agent's figures, or those of processes, in one column."""

    at: datetime
    #: How many a minute, by result.
    rates: Mapping[str, float]
    calls: Percentiles
    waits: Percentiles
    workers: int
    #: None if there is no sample.
    level: Level | None

    @property
    def rate(self) -> float:
        return sum(self.rates.values())

    @property
    def pending(self) -> float | None:
        return None if self.level is None else self.level.pending

    @property
    def in_flight(self) -> float | None:
        return None if self.level is None else self.level.in_flight

    @property
    def window_size(self) -> float | None:
        return None if self.level is None else self.level.window_size

    @property
    def oldest_seconds(self) -> float | None:
        """Return how long the oldest has waited: 0 if none waits."""
        return None if self.level is None else self.level.oldest_seconds or 0.0


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """An agent over a whole range; without a name, all processes."""

    agent: str
    counts: Mapping[str, int]
    #: Results a minute.
    rate: float
    calls: Percentiles
    waits: Percentiles
    #: The last sample; None if there is none within the range.
    level: Level | None
    columns: Sequence[Column] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def bad(self) -> int:
        """Return how many results were failures; refusals for a reason of business are none."""
        return self.total - self.counts.get("ok", 0) - self.counts.get("refused", 0)

    @property
    def bad_share(self) -> float:
        return 100 * self.bad / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a frame, each with when it begins."""

    frame: Frame
    figures: Sequence[tuple[datetime, Figures]]
    levels: Sequence[tuple[datetime, Level]]

    @property
    def agents(self) -> list[str]:
        names = {figures.agent for _at, figures in self.figures}
        return sorted(names - {EVERY_PROCESS} | {level.agent for _at, level in self.levels})


def read(frame: Frame, agent: str | None = None) -> Rows:
    """Read a frame, of one agent only if it is given; two statements either way.

    The frame of the rows begins where the figures do.
    """
    span = (frame.range.span, frame.begin, frame.end, agent)
    rows, levels = minutes.of_span(*span), gauges.of_span(*span)
    first = min((at for at, _ in [*rows[:1], *levels[:1]]), default=None)
    return Rows(frame.cut(first), rows, levels)


def of_agent(rows: Rows, agent: str) -> AgentFigures:
    """Return the figures of an agent's calls; without a name, those of processes."""
    return _agent_figures(
        agent,
        rows.frame,
        [(at, figures) for at, figures in rows.figures if figures.agent == agent],
        [(at, level) for at, level in rows.levels if level.agent == agent],
    )


def together(rows: Rows) -> list[Column]:
    """Return the figures of processes, with the calls and levels of all agents."""
    frame = rows.frame
    return [
        _column(
            at,
            Figures(
                EVERY_PROCESS,
                _sum(
                    EVERY_PROCESS, [figures for figures in group if figures.agent == EVERY_PROCESS]
                ).counts,
                latency.merged(figures.calls for figures in group),
                latency.merged(figures.waits for figures in group),
            ),
            _total_level(looks),
            frame.minutes(at),
            MOVES,
        )
        for at, group, looks in zip(
            frame.columns, frame.gathered(rows.figures), frame.gathered(rows.levels), strict=True
        )
    ]


def _total_level(levels: Sequence[Level]) -> list[Level]:
    """Return the levels of all agents added up, each at its worst in the column."""
    worst_levels = worst(levels)
    if not worst_levels:
        return []
    ages = [level.oldest_seconds for level in worst_levels if level.oldest_seconds is not None]
    total = Level(
        "",
        sum(level.pending for level in worst_levels),
        sum(level.in_flight for level in worst_levels),
        sum(level.failed for level in worst_levels),
        sum(level.window_size for level in worst_levels),
        max(ages, default=None),
        max((level.breaker for level in worst_levels), key=list(BreakerState.values).index),
    )
    return [total]


def _agent_figures(
    name: str,
    frame: Frame,
    rows: Sequence[tuple[datetime, Figures]],
    levels: Sequence[tuple[datetime, Level]],
) -> AgentFigures:
    kinds = RESULTS if name != EVERY_PROCESS else MOVES
    total = _sum(name, [figures for _at, figures in rows])
    columns = [
        _column(at, _sum(name, group), looks, frame.minutes(at), kinds)
        for at, group, looks in zip(
            frame.columns, frame.gathered(rows), frame.gathered(levels), strict=True
        )
    ]
    minutes_in_all = sum(frame.minutes(at) for at in frame.columns)
    return AgentFigures(
        name,
        {kind: total.counts.get(kind, 0) for kind in kinds},
        sum(total.counts.values()) / minutes_in_all,
        _percentiles(total.calls),
        _percentiles(total.waits),
        levels[-1][1] if levels else None,
        columns,
    )


def since_known(columns: Sequence[Column], values: Sequence[float | None]) -> list[float | None]:
    """Return values of columns, None before the first sample: they were not 0."""
    is_known = [column.level is not None or column.rate > 0 for column in columns]
    first = is_known.index(True) if True in is_known else len(columns)
    return [None] * first + list(values[first:])


def _sum(name: str, group: Sequence[Figures]) -> Figures:
    return summed(group)[0] if group else Figures(name)


def _column(
    at: datetime,
    figures: Figures,
    looks: Sequence[Level],
    length: float,
    kinds: Sequence[str],
) -> Column:
    return Column(
        at,
        {kind: figures.counts.get(kind, 0) / length for kind in kinds},
        _percentiles(figures.calls),
        _percentiles(figures.waits),
        figures.workers,
        worst(looks)[0] if looks else None,
    )


def _percentiles(buckets: latency.Buckets) -> Percentiles:
    return {name: latency.percentile(buckets, share) for name, share in SHARES.items()}
