"""The duty that looks after the figures: rolls minutes up and notes how agents stand.

The sweep asks for it every half minute.  It goes on where it stopped, for a few seconds at most:
after a gap of an hour it has caught up within a few rounds.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from workers.desk.rules.minutes import KEPT, begin
from workers.desk.states import Span
from workers.desk.store import gauges, minutes, totals
from workers.rules import lateness
from workers.runtime.worker_identity import me
from workers.store import leases
from workers.store.db import dialect

#: Name of the lease row whose cursor says which minute comes next (seconds since 1970), and of the
#: one that says when somebody was last asked.
HEALTH = "health"
ASKED = "health_asked"
INTERVAL_SECONDS = 30.0
#: What was written in a minute is committed so long after it.
GRACE_SECONDS = 10.0
#: Time that one round takes of minutes, and for how long it keeps others off.
ROUND_SECONDS = 2.0
LEASE_SECONDS = 30.0
#: Where it begins when it has never run.
FIRST = timedelta(hours=1)
_MINUTE = timedelta(seconds=Span.MINUTE)


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did: the minutes rolled up, and whether more of them are over."""

    minutes: int
    is_behind: bool


def is_due() -> bool:
    """Say whether a round is to be asked for, of several who want to know to one."""
    seconds = leases.seconds_since(ASKED)
    if seconds is not None and 0 <= seconds < INTERVAL_SECONDS:
        return False
    return leases.is_due(ASKED, INTERVAL_SECONDS)


def run(now: datetime | None = None, *, seconds: float = ROUND_SECONDS) -> Round | None:
    """Roll up the minutes that are over until the time is up, and note how agents stand.

    None: somebody else is at it.  ``now`` is for tests, like everywhere.
    """
    end = time.monotonic() + seconds
    with leases.held(HEALTH, f"{me('health')}:{uuid4().hex[:8]}", LEASE_SECONDS) as lease:
        if not lease:
            return None
        at = dialect.read_clock(now)
        gauges.take(now)
        cursor = leases.cursor(HEALTH)
        minute = _next(cursor, at)
        over = begin(at - timedelta(seconds=GRACE_SECONDS), Span.MINUTE)
        done: list[datetime] = []
        while minute < over:
            minutes.roll_up(minute)
            done.append(minute)
            minute += _MINUTE
            if time.monotonic() >= end or not lease.renew():
                break
        minutes.sum_up_around(done)
        totals.carry_forward(now)
        if minute.timestamp() != cursor:
            leases.set_cursor(HEALTH, int(minute.timestamp()))
    return Round(len(done), minute < over)


def _next(cursor: int, at: datetime) -> datetime:
    """Return the minute that comes next: of those whose figures would be kept, and never ahead."""
    if not cursor:
        return begin(at - FIRST, Span.MINUTE)
    minute = datetime.fromtimestamp(cursor, UTC)
    if lateness.is_ahead((at - minute).total_seconds()):
        # The clock was set back since: what it shows for the second time is rolled up again.
        return begin(at, Span.MINUTE)
    return max(minute, begin(at - KEPT[Span.MINUTE], Span.MINUTE))
