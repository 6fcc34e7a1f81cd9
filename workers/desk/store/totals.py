"""Figures of all time, for counters that only rise: a sum that is carried forward hour by hour.

Minutes and hours are pruned; a counter that fell with them would look like one that was reset.
"""

from datetime import datetime, timedelta

from workers.desk.rules.minutes import Figures, begin, summed
from workers.desk.states import Span
from workers.desk.store import minutes
from workers.runtime.failpoints import durable
from workers.store.db import dialect

#: After a clock was set back, minutes are rolled up again; none as old as this is.
SETTLED = timedelta(hours=2)


def until_now(now: datetime | None = None) -> list[Figures]:
    """Return the figures of all time by agent, up to the last minute that was rolled up."""
    return _until(dialect.read_clock(now) + timedelta(minutes=1))


def carry_forward(now: datetime | None = None) -> bool:
    """Store the sum up to two hours ago.  False: it is stored already.

    Two calls at once write the same.
    """
    at = begin(dialect.read_clock(now) - SETTLED, Span.HOUR)
    newest = _newest()
    if newest is not None and newest >= at:
        return False
    figures = _until(at)
    with durable("totals.carry_forward"):
        minutes.write(Span.EVER, at, figures)
        dialect.execute(
            "DELETE FROM desk_minute WHERE span = %s AND at < %s",
            [int(Span.EVER), dialect.instant_text(at)],
        )
    return True


def _until(at: datetime) -> list[Figures]:
    newest = _newest()
    since = newest or datetime.fromtimestamp(0, at.tzinfo)
    before = (
        [] if newest is None else minutes.of_span(Span.EVER, newest, newest + timedelta(seconds=1))
    )
    rows = [*before, *minutes.of_span(Span.MINUTE, since, at)]
    return summed(figures for _at, figures in rows)


def _newest() -> datetime | None:
    rows = dialect.fetch("SELECT max(at) FROM desk_minute WHERE span = %s", [int(Span.EVER)])
    return dialect.instant(rows[0][0])
