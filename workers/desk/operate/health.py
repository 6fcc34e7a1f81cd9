"""The duty that keeps the figures: rolls minutes up and stores the levels of agents.

The sweep asks for it every half minute.  Each round goes on where the last one stopped, for a few
seconds at most: after a gap of an hour the figures have caught up within a few rounds.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from workers.desk.rules.minutes import KEPT, begin
from workers.desk.states import Span
from workers.desk.store import gauges, minutes, totals
from workers.rules import lateness
from workers.runtime.worker_identity import me
from workers.store import isolation, leases
from workers.store.db import dialect

#: Name of the lease row whose cursor is the next minute (seconds since 1970), and of the lease row
#: that says when a round was last asked for.
HEALTH = "health"
ASKED = "health_asked"
INTERVAL_SECONDS = 30.0
#: Rows written in a minute count as committed this long after it.
GRACE_SECONDS = 10.0
#: Each minute is rolled up once more, this much later: an import may commit minutes after it wrote.
LATE = timedelta(minutes=15)
#: Time that one round spends on minutes, and its lease.
ROUND_SECONDS = 2.0
LEASE_SECONDS = 30.0
#: How far back the very first round begins.
FIRST = timedelta(hours=1)
_MINUTE = timedelta(seconds=Span.MINUTE)


@dataclass(frozen=True, slots=True)
class Round:
    """The result of one round: the minutes rolled up, and whether more of them are over."""

    minutes: int
    is_behind: bool


def is_due() -> bool:
    """Say whether to ask for a round; of several callers at once only one gets True."""
    seconds = leases.seconds_since(ASKED)
    if seconds is not None and 0 <= seconds < INTERVAL_SECONDS:
        return False
    return leases.is_due(ASKED, INTERVAL_SECONDS)


def run(now: datetime | None = None, *, seconds: float = ROUND_SECONDS) -> Round | None:
    """Store the levels of agents, and roll up past minutes until the time is up.

    None: another worker runs a round.  ``now`` is for tests, as everywhere.
    """
    end = time.monotonic() + seconds
    with leases.held(HEALTH, f"{me('health')}:{uuid4().hex[:8]}", LEASE_SECONDS) as lease:
        if not lease:
            return None
        at = dialect.read_clock(now)
        gauges.take(now)
        cursor = leases.cursor(HEALTH)
        first = minute = _next(cursor, at)
        over = begin(at - timedelta(seconds=GRACE_SECONDS), Span.MINUTE)
        done: list[datetime] = []
        count = 0
        while minute < over:
            # One that cannot be rolled up must not hold up those after it.
            looks = [minute]
            # Unless it catches up: then what it rolls up was written long ago.
            if at - minute < LATE and cursor and minute - LATE < first:
                looks.append(minute - LATE)
            isolation.apart(looks, _roll_up, isolation.alerting("minute", "roll up", now))
            done += looks
            minute += _MINUTE
            count += 1
            if time.monotonic() >= end or not lease.renew():
                break
        minutes.sum_up_around(done)
        totals.carry_forward(now)
        if minute.timestamp() != cursor:
            leases.set_cursor(HEALTH, int(minute.timestamp()))
    return Round(count, minute < over)


def _roll_up(over: Sequence[datetime]) -> None:
    for minute in over:
        minutes.roll_up(minute)


def _next(cursor: int, at: datetime) -> datetime:
    """Return the next minute to roll up: not ahead, and not older than figures are kept."""
    if not cursor:
        return begin(at - FIRST, Span.MINUTE)
    minute = datetime.fromtimestamp(cursor, UTC)
    if lateness.is_ahead((at - minute).total_seconds()):
        # The clock was set back: the minutes that it shows again are rolled up again.
        return begin(at, Span.MINUTE)
    return max(minute, begin(at - KEPT[Span.MINUTE], Span.MINUTE))
