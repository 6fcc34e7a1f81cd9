"""Leases: one process at a time performs a periodic duty; a second one would do no harm."""

from collections.abc import Collection, Iterator, Mapping
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
PRUNE = "prune"

#: How often in a row a duty fails before an alert: a single failure is mostly a deadlock.
FAILURES_BEFORE_ALERT = 3
ERROR_LENGTH = 500


@around("leases.acquire")
def acquire(name: str, holder: str, seconds: float, now: datetime | None = None) -> bool:
    """Acquire a lease that is free, over, or already this holder's.  False: another holds it."""
    moment, params = dialect.clock(now)
    return (
        dialect.execute(
            "INSERT INTO workers_lease (name, holder, expires_at, cursor, failures, error)"
            f" VALUES (%s, %s, {dialect.later(moment, '%s')}, 0, 0, '')"
            " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder,"
            " expires_at = excluded.expires_at"
            " WHERE workers_lease.holder IS NULL OR workers_lease.holder = excluded.holder"
            f" OR workers_lease.expires_at < {moment}"
            # An end beyond any lease's duration was written before the clock was set back.
            f" OR workers_lease.expires_at > {dialect.later(moment, '%s')}",
            [name, holder, *params, seconds, *params, *params, seconds + AHEAD_SECONDS],
        )
        == 1
    )


@around("leases.abandon")
def abandon(name: str, holder: str, error: str = "", now: datetime | None = None) -> bool:
    """Release a lease whose duty was not performed.  False: it was lost.

    ``error`` is what the duty raised: it is kept on the lease, and counted until the duty is
    performed.  Empty: the duty was interrupted, and did not fail.
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
    """Release a lease whose duty was performed.  False: it was lost."""
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
    """Mark a duty as performed if the last time is ``seconds`` ago.  False: it is not due yet.

    Of several concurrent callers, one gets True.
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
    """Return SQL that is true if a duty is due again.

    Its parameters: the seconds between two runs, then those of ``moment``, twice.
    """
    return (
        f"({performed_at} IS NULL OR {dialect.later(performed_at, '%s')} <= {moment}"
        f" OR {performed_at} > {dialect.later(moment, str(AHEAD_SECONDS))})"
    )


def seconds_since(name: str, now: datetime | None = None) -> float | None:
    """Return how long ago a duty was last performed, below 0 in the future; None: never."""
    at, performed_at = performed([name], now)
    return None if name not in performed_at else (at - performed_at[name]).total_seconds()


def performed(
    names: Collection[str], now: datetime | None = None
) -> tuple[datetime, dict[str, datetime]]:
    """Return the current instant, and when each of some duties was last performed, if ever."""
    moment, params = dialect.clock(now)
    marks = ", ".join(["%s"] * len(names))
    rows = dialect.fetch(
        f"SELECT {moment}, NULL, NULL UNION ALL SELECT NULL, name, performed_at"
        f" FROM workers_lease WHERE name IN ({marks}) AND performed_at IS NOT NULL",
        [*params, *names],
    )
    at = next(dialect.instant(row[0]) for row in rows if row[1] is None)
    assert at is not None
    instants = {name: dialect.instant(instant) for _at, name, instant in rows if name is not None}
    return at, {name: instant for name, instant in instants.items() if instant is not None}


def resting(
    names: Collection[str],
    seconds: float,
    idle: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> set[str]:
    """Return the duties that were performed within ``seconds``; none while an alert is news.

    Also those whose condition in ``idle``, SQL by name, is true: they have nothing to do.
    """
    moment, params = dialect.clock(now)
    marks = ", ".join(["%s"] * len(names))
    rows = dialect.fetch(
        f"SELECT l.name FROM workers_lease l WHERE l.name IN ({marks}) AND l.failures = 0"
        f" AND NOT {due('l.performed_at', moment)} AND (SELECT a.id FROM workers_alert a"
        " WHERE a.group_id IS NULL AND a.resolved_at IS NULL ORDER BY a.id LIMIT 1) IS NULL"
        + "".join(f" UNION ALL SELECT %s WHERE {sql}" for sql in (idle or {}).values()),
        [*names, seconds, *params, *params, *(idle or {})],
    )
    return {name for (name,) in rows}


def is_stuck(name: str, seconds: float, now: datetime | None = None) -> bool:
    """Say whether a duty with a lease of ``seconds`` has been running for longer than it should.

    A run that has just begun does not explain a delay: it may have been requested a moment ago.
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
    """A duty's last exception, how often it failed in a row, and when it was last performed."""

    name: str
    failures: int
    error: str
    #: None: never.
    seconds: float | None


def failing(least: int = FAILURES_BEFORE_ALERT, now: datetime | None = None) -> list[Failure]:
    """Return the duties that have failed at least ``least`` times in a row, by name."""
    return ages_and_failures([], least, now)[1]


def ages_and_failures(
    names: Collection[str], least: int = FAILURES_BEFORE_ALERT, now: datetime | None = None
) -> tuple[dict[str, float | None], list[Failure]]:
    """Return how long ago some duties were performed (``seconds_since``), and ``failing``."""
    moment, params = dialect.clock(now)
    marks = ", ".join(["%s"] * len(names)) or "NULL"
    rows = [
        Failure(name, failures, error, _seconds_between(performed_at, clock))
        for name, failures, error, performed_at, clock in dialect.fetch(
            f"SELECT name, failures, error, performed_at, {moment} FROM workers_lease"
            f" WHERE failures >= %s OR name IN ({marks}) ORDER BY name",
            [*params, least, *names],
        )
    ]
    ages = {row.name: row.seconds for row in rows if row.name in names}
    return ages, [row for row in rows if row.failures >= least]


def _seconds_between(performed_at: object, clock: object) -> float | None:
    start, now = dialect.instant(performed_at), dialect.instant(clock)
    assert now is not None
    return None if start is None else (now - start).total_seconds()


@dataclass(frozen=True, slots=True)
class HeldLease:
    """An attempt to hold a lease; false if another holder has it."""

    name: str
    holder: str
    seconds: float
    had: bool

    def __bool__(self) -> bool:
        return self.had

    def renew(self) -> bool:
        """Renew it for the same time.  False: it was lost, and the next holder does the rest."""
        return acquire(self.name, self.holder, self.seconds)


@contextmanager
def held(name: str, holder: str, seconds: float) -> Iterator[HeldLease]:
    """Hold a lease during a block; yield the hold.

    The lease need only last from one renewal to the next: for that time a killed holder keeps
    others from the duty.  The duty counts as performed only if the block ends without an exception:
    after a failure, the next holder must still see the whole gap.  An exception is kept on the
    lease.
    """
    hold = HeldLease(name, holder, seconds, had=acquire(name, holder, seconds))
    try:
        yield hold
    except BaseException as failure:
        if hold:
            abandon(name, holder, _first_line(failure) if isinstance(failure, Exception) else "")
        raise
    if hold:
        release(name, holder)


def _first_line(failure: Exception) -> str:
    """Return the first line of an exception: later ones may hold personal data."""
    return in_a_line(failure).splitlines()[0]


def clock_and_cursor(name: str, now: datetime | None = None) -> tuple[datetime, int]:
    """Return the current instant, and where the last round of a duty stopped."""
    moment, params = dialect.clock(now)
    value, position = dialect.fetch(
        f"SELECT {moment}, (SELECT cursor FROM workers_lease WHERE name = %s)", [*params, name]
    )[0]
    at = dialect.instant(value)
    assert at is not None
    return at, int(position or 0)


def cursor(name: str) -> int:
    """Return where the last round of a duty stopped."""
    rows = dialect.fetch("SELECT cursor FROM workers_lease WHERE name = %s", [name])
    return int(rows[0][0]) if rows else 0


@around("leases.set_cursor")
def set_cursor(name: str, position: int) -> None:
    """Store where a round of a duty stopped."""
    dialect.execute("UPDATE workers_lease SET cursor = %s WHERE name = %s", [position, name])
