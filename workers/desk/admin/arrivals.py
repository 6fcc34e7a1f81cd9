"""When alerts came, as bars: drawn by the server, with the same figures as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

#: Columns of the chart, and its size in its own units.
BARS = 24
WIDTH, HEIGHT = 480, 72
GAP = 2
#: A lower bar would look like none.
LEAST_HEIGHT = 2
#: The chart's span if all alerts came at once.
LEAST_SPAN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Bar:
    """The number of arrivals in one interval, and its rectangle."""

    begin: datetime
    end: datetime
    count: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Chart:
    bars: tuple[Bar, ...]
    begin: datetime
    end: datetime
    most: int
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def filled(self) -> tuple[Bar, ...]:
        """Return the bars that are not empty, for the table."""
        return tuple(bar for bar in self.bars if bar.count)


def chart(instants: Sequence[datetime], end: datetime) -> Chart | None:
    """Return the arrivals from the first instant to ``end``; None without any."""
    if not instants:
        return None
    begin = min(instants)
    span = max(end - begin, LEAST_SPAN)
    width = span / BARS
    counts = [0] * BARS
    for at in instants:
        counts[min(int((at - begin) / width), BARS - 1)] += 1
    most = max(counts)
    return Chart(
        tuple(_bar(index, count, most, begin, width) for index, count in enumerate(counts)),
        begin,
        begin + span,
        most,
    )


def _bar(index: int, count: int, most: int, begin: datetime, width: timedelta) -> Bar:
    height = max(round(HEIGHT * count / most, 1), LEAST_HEIGHT) if count else 0
    column = WIDTH / BARS
    return Bar(
        begin=begin + index * width,
        end=begin + (index + 1) * width,
        count=count,
        x=round(index * column + GAP / 2, 1),
        y=round(HEIGHT - height, 1),
        width=round(column - GAP, 1),
        height=height,
    )
