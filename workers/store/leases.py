"""Leases: one process at a time performs a periodic duty; a second one does no harm."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from workers.exceptions import in_a_line
from workers.rules.lateness import AHEAD_SECONDS, LATE_SECONDS
from workers.runtime import storable_text
from workers.runtime.failpoints import around
from workers.store.db import dialect

SWEEP = "sweep"
POLL = "poll"
JOBS = "jobs"
INCIDENT_COLLECTION = "incident_collection"
INCIDENT_REFRESH = "incident_refresh"
DELIVERY_PLANNING = "delivery_planning"
#: What has to be performed for anybody to be told of anything.
TELLING = frozenset({INCIDENT_COLLECTION, INCIDENT_REFRESH, DELIVERY_PLANNING})

#: Times in a row that a duty raises before somebody is told: one alone is most often a deadlock.
FAILURES_BEFORE_ALERT = 3
ERROR_LENGTH = 500


@around("leases.acquire")
def acquire(name: str, holder: str, seconds: float, now: datetime | None = None) -> bool:
    """Take a lease that is free, over, or one's own.  False: somebody else has it."""
    moment, params = dialect.clock(now)
    return (
        dialect.execute(
            "INSERT INTO workers_lease (name, holder, expires_at, cursor, failures, error)"
            f" VALUES (%s, %s, {dialect.later(moment, '%s')}, 0, 0, '')"
            " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder,"
            " expires_at = excluded.expires_at"
            " WHERE workers_lease.holder IS NULL OR workers_lease.holder = excluded.holder"
            f" OR workers_lease.expires_at < {moment}"
            # Longer than any lease lasts: its end was written by a clock that was set back since.
            f" OR workers_lease.expires_at > {dialect.later(moment, '%s')}",
            [name, holder, *params, seconds, *params, *params, seconds + AHEAD_SECONDS],
        )
        == 1
    )


@around("leases.abandon")
def abandon(name: str, holder: str, error: str = "", now: datetime | None = None) -> bool:
    """Give a lease back whose duty was not performed.  False: it was lost.

    ``error`` is what the duty raised: it is kept on the lease, and counted until the duty is
    performed.  Empty: the duty was interrupted, and has not failed.
    """
    failed, params = "", []
    if error:
        moment, at = dialect.clock(now)
        failed = f", failures = failures + 1, error = %s, failed_at = {moment}"
        params = [storable_text.storable(error)[:ERROR_LENGTH], *at]
    return (
        dialect.execute(
            f"UPDATE workers_lease SET holder = NULL, expires_at = NULL{failed}"
            " WHERE name = %s AND holder = %s",
            [*params, name, holder],
        )
        == 1
    )


@around("leases.release")
def release(name: str, holder: str, now: datetime | None = None) -> bool:
    """Give a lease back and note that its duty was performed.  False: it was lost."""
    moment, params = dialect.clock(now)
    return (
        dialect.execute(
            "UPDATE workers_lease SET holder = NULL, expires_at = NULL, failures = 0,"
            f" performed_at = {moment}"
            " WHERE name = %s AND holder = %s",
            [*params, name, holder],
        )
        == 1
    )


@around("leases.is_due")
def is_due(name: str, seconds: float, now: datetime | None = None) -> bool:
    """Note a duty as performed if that is ``seconds`` ago.  False: it is not due yet.

    Of several that ask at once, one is told True.
    """
    moment, params = dialect.clock(now)
    return (
        dialect.execute(
            "INSERT INTO workers_lease (name, performed_at, cursor, failures, error)"
            f" VALUES (%s, {moment}, 0, 0, '')"
            f" ON CONFLICT (name) DO UPDATE SET performed_at = {moment}"
            f" WHERE {due('workers_lease.performed_at', moment)}",
            [name, *params, *params, seconds, *params, *params],
        )
        == 1
    )


def due(performed_at: str, moment: str) -> str:
    """Return SQL that says whether a duty is to be performed again.

    Its parameters: the seconds that it rests, behind each of them those of ``moment``.
    """
    return (
        f"({performed_at} IS NULL OR {dialect.later(performed_at, '%s')} <= {moment}"
        f" OR {performed_at} > {dialect.later(moment, str(AHEAD_SECONDS))})"
    )


def seconds_since(name: str, now: datetime | None = None) -> float | None:
    """Return how long ago a duty was last performed, below 0 in the future; None: never."""
    found = dialect.fetch("SELECT performed_at FROM workers_lease WHERE name = %s", [name])
    at = dialect.instant(found[0][0]) if found else None
    return None if at is None else (dialect.read_clock(now) - at).total_seconds()


def performed(
    names: Collection[str], now: datetime | None = None
) -> tuple[datetime, dict[str, datetime]]:
    """Return the present instant, and when each of some duties was last performed, if ever."""
    moment, params = dialect.clock(now)
    marks = ", ".join(["%s"] * len(names))
    rows = dialect.fetch(
        f"SELECT {moment}, NULL, NULL UNION ALL SELECT NULL, name, performed_at"
        f" FROM workers_lease WHERE name IN ({marks}) AND performed_at IS NOT NULL",
        [*params, *names],
    )
    at = next(dialect.instant(row[0]) for row in rows if row[1] is None)
    assert at is not None
    found = {name: dialect.instant(when) for _at, name, when in rows if name is not None}
    return at, {name: when for name, when in found.items() if when is not None}


def is_stuck(name: str, seconds: float, now: datetime | None = None) -> bool:
    """Say whether somebody performs a duty, under a lease of ``seconds``, for longer than it takes.

    One that has just begun says nothing of why it is late: it may have been asked for a moment ago.
    """
    moment, params = dialect.clock(now)
    return bool(
        dialect.fetch(
            "SELECT 1 FROM workers_lease WHERE name = %s AND holder IS NOT NULL"
            f" AND expires_at > {moment} AND expires_at <= {dialect.later(moment, '%s')}",
            [name, *params, *params, seconds - LATE_SECONDS],
        )
    )


@dataclass(frozen=True, slots=True)
class Failure:
    """What a duty raised last, how often in a row, and how long ago it was performed."""

    name: str
    failures: int
    error: str
    #: None: never.
    seconds: float | None


def failing(least: int = FAILURES_BEFORE_ALERT, now: datetime | None = None) -> list[Failure]:
    """Return the duties that have raised ``least`` times in a row, by name."""
    moment, params = dialect.clock(now)
    rows = dialect.fetch(
        f"SELECT name, failures, error, performed_at, {moment} FROM workers_lease"
        " WHERE failures >= %s ORDER BY name",
        [*params, least],
    )
    return [
        Failure(name, failures, error, _seconds_between(performed_at, clock))
        for name, failures, error, performed_at, clock in rows
    ]


def _seconds_between(performed_at: object, clock: object) -> float | None:
    since, now = dialect.instant(performed_at), dialect.instant(clock)
    assert now is not None
    return None if since is None else (now - since).total_seconds()


@dataclass(frozen=True, slots=True)
class HeldLease:
    """Somebody's hold of a lease; false where somebody else has it."""

    name: str
    holder: str
    seconds: float
    had: bool

    def __bool__(self) -> bool:
        return self.had

    def renew(self) -> bool:
        """Hold it for as long again.  False: it was lost, and the rest is the next holder's."""
        return acquire(self.name, self.holder, self.seconds)


@contextmanager
def held(name: str, holder: str, seconds: float) -> Iterator[HeldLease]:
    """Hold a lease for the time of a block; yield the hold.

    It need only last from one renewal to the next: so long does a killed holder keep the
    others from the duty.  The duty counts as performed only when the block ends well: after
    one that failed the next must still see how long the gap has been.  What it raised is kept
    on the lease.
    """
    hold = HeldLease(name, holder, seconds, had=acquire(name, holder, seconds))
    try:
        yield hold
    except BaseException as failure:
        if hold:
            abandon(name, holder, _said(failure) if isinstance(failure, Exception) else "")
        raise
    if hold:
        release(name, holder)


def _said(failure: Exception) -> str:
    """Return the first line of what a duty raised: those behind it may hold somebody's data."""
    return in_a_line(failure).splitlines()[0]


def clock_and_cursor(name: str, now: datetime | None = None) -> tuple[datetime, int]:
    """Return the present instant, and where the last round of a duty stopped."""
    moment, params = dialect.clock(now)
    value, position = dialect.fetch(
        f"SELECT {moment}, (SELECT cursor FROM workers_lease WHERE name = %s)", [*params, name]
    )[0]
    at = dialect.instant(value)
    assert at is not None
    return at, int(position or 0)


def cursor(name: str) -> int:
    """Return where the last round of a duty stopped."""
    found = dialect.fetch("SELECT cursor FROM workers_lease WHERE name = %s", [name])
    return int(found[0][0]) if found else 0


@around("leases.set_cursor")
def set_cursor(name: str, position: int) -> None:
    dialect.execute("UPDATE workers_lease SET cursor = %s WHERE name = %s", [position, name])
