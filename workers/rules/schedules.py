"""Decide which instants of a schedule fire now.  Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import chain

from workers.definitions.schedule import Schedule

#: An instant is on time so long, whatever ``catch_up``: polls lie some seconds apart.
ON_TIME = timedelta(minutes=1)
#: How soon to look again at an instant that waits for the process before.
WAIT = timedelta(seconds=10)
#: The most instants that fire, or are counted as missed, in one transaction.
MOST_FIRED, MOST_MISSED = 20, 1000
#: The most instants in one backfill.
MOST_BACKFILLED = 10_000


@dataclass(slots=True)
class Turn:
    """What becomes of the instants of a schedule that are due."""

    fires: list[datetime] = field(default_factory=list)
    #: Those that are later than ``catch_up``.
    missed: list[datetime] = field(default_factory=list)
    #: How many the process before left out.
    skipped: int = 0
    #: The first instant that is not dealt with, and when to look at it.
    next_at: datetime = datetime.min
    due_at: datetime = datetime.min


def turn(
    schedule: Schedule,
    next_at: datetime,
    at: datetime,
    *,
    is_running: bool,
    skip_at: datetime | None = None,
) -> Turn:
    """Decide on the instants from ``next_at`` that are due ``at``.

    An instant that comes while the process before runs is left out under ``skip``; one that was
    missed waits for its end, as all do under ``queue``.  Under ``replace`` the newest fires.
    """
    result = Turn()
    for instant in chain([next_at], schedule.timing.after(next_at)):
        result.next_at = instant
        result.due_at = instant + jitter(schedule, instant)
        late = at - result.due_at
        if late < timedelta() or len(result.missed) == MOST_MISSED:
            break
        if instant == skip_at:
            continue
        if late > max(schedule.catch_up, ON_TIME):
            result.missed.append(instant)
        elif schedule.overlap == "both":
            if len(result.fires) == MOST_FIRED:
                break
            result.fires.append(instant)
        elif schedule.overlap == "replace":
            result.skipped += len(result.fires)
            result.fires = [instant]
        elif not is_running and not result.fires:
            result.fires = [instant]
        elif schedule.overlap == "skip" and late <= ON_TIME:
            result.skipped += 1
        else:
            result.due_at = at + WAIT
            break
    return result


def jitter(schedule: Schedule, instant: datetime) -> timedelta:
    """Return how much later an instant fires: always the same, of each schedule another."""
    digest = sha256(f"{schedule.name} {instant.timestamp()}".encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32
    return timedelta(seconds=int(share * (schedule.jitter_seconds + 1)))


def window(schedule: Schedule, begin: datetime, end: datetime) -> Iterator[datetime]:
    """Yield the instants from ``begin`` to ``end``, both included."""
    for instant in schedule.timing.after(begin - timedelta(microseconds=1)):
        if instant > end:
            return
        yield instant


def key(name: str, instant: datetime) -> str:
    """Return the submission key of an instant."""
    return f"schedule:{name}:{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def span(instants: Sequence[datetime]) -> dict[str, str | int]:
    """Return how many instants there are, the first and the last, for people."""
    return {
        "count": len(instants),
        "first": instants[0].isoformat(),
        "last": instants[-1].isoformat(),
    }
