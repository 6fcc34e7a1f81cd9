"""The last hour in a few small lines, for the front page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from workers.desk.admin.health import charts, figures
from workers.desk.admin.health.figures import Column, Frame
from workers.desk.admin.health.page import STALE, frame_now

#: The number beside a line is the mean of so many minutes.
LATELY = 5


@dataclass(frozen=True, slots=True)
class Spark:
    """One line: its title, its number in words, and its outline."""

    name: str
    title: str
    value: str
    #: The most within the hour.
    most: str
    path: str


@dataclass(frozen=True, slots=True)
class Strip:
    sparks: Sequence[Spark]
    #: When it was read, and the end of the last minute that was rolled up.
    now: datetime
    #: When figures begin, if that is within the hour.
    first: datetime | None
    until: datetime
    is_stale: bool


def read() -> Strip:
    """Return the strip; costs three statements."""
    frame, now = frame_now("1h")
    rows = figures.read(frame)
    frame, columns = rows.frame, figures.together(rows)
    pending = [column.pending for column in columns]
    ages = [column.oldest_seconds for column in columns]
    p95 = [column.calls["p95"] for column in columns]
    sparks = [
        _rate(frame, columns, "taken", _("taken per minute")),
        _rate(frame, columns, "ended", _("ended per minute")),
        _rate(frame, columns, "failed", _("stopped in error per minute")),
        _spark(frame, "pending", _("steps waiting"), pending, charts.number),
        _spark(frame, "oldest", _("the oldest waits"), ages, charts.seconds),
        _spark(frame, "p95", _("p95 of calls"), p95, charts.seconds),
    ]
    is_stale = now - frame.until > STALE
    if is_stale:
        # What was so then is not known to be so now.
        sparks = [replace(spark, value="?") for spark in sparks]
    return Strip(sparks, now, frame.first, frame.until, is_stale)


def _rate(frame: Frame, columns: Sequence[Column], move: str, title: str) -> Spark:
    rates = figures.since_known(columns, [column.rates[move] for column in columns])
    lately = [rate for rate in rates[-LATELY:] if rate is not None]
    mean = sum(lately) / len(lately) if lately else 0.0
    spark = _spark(frame, move, title, rates, charts.number)
    return replace(spark, value=charts.number(mean))


def _spark(
    frame: Frame,
    name: str,
    title: str,
    values: Sequence[float | None],
    word: Callable[[float], str],
) -> Spark:
    measured = [value for value in values if value is not None]
    return Spark(
        name,
        title,
        word(measured[-1]) if measured else "-",
        word(max(measured)) if measured else "",
        charts.spark(frame, values),
    )
