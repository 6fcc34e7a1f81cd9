"""When alerts came, as bars: drawn by the server, with the same figures as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.desk.admin.pictures import series
from workers.desk.admin.pictures.series import Mark, Shape
from workers.runtime import timestamps

#: Columns of the chart.
BARS = 24
#: The chart's span if all alerts came at once.
LEAST_SPAN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Arrivals:
    begin: datetime
    end: datetime
    most: int
    shapes: Sequence[Shape]
    spots: Sequence[Mark]
    #: Begin, end and number of the columns that are not empty.
    lines: Sequence[tuple[datetime, datetime, int]]


def chart(instants: Sequence[datetime], end: datetime) -> Arrivals | None:
    """Return the arrivals from the first instant to ``end``; None without any."""
    if not instants:
        return None
    begin = min(instants)
    width = max(end - begin, LEAST_SPAN) / BARS
    begins = [begin + index * width for index in range(BARS)]
    counts = [0] * BARS
    for at in instants:
        counts[min(int((at - begin) / width), BARS - 1)] += 1
    on = series.scale(begins, begin + BARS * width, counts)
    columns = list(zip(begins, counts, strict=True))
    return Arrivals(
        begin,
        on.end,
        max(counts),
        series.stacked(on, [{"came": count} for count in counts], ["came"]),
        series.spots(on, [f"{timestamps.full(at)}: {count}" for at, count in columns]),
        [(at, at + width, count) for at, count in columns if count],
    )
