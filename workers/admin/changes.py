"""Whether anything has changed since a page was drawn: asked first by every poll.

A page is drawn with a *marker*, and its polls send that marker back; where it is still the same,
the answer is 204 and nothing else is read.  Every change of a process has a journal row, so that
the newest row's id tells of all of them.  What has none (a breaker, the room at an agent, a
worker that is silent) is seen ``FRESH_SECONDS`` late at most: a marker is not older.

Of two transactions the one with the smaller id may commit last.  A page of one process is never
misled, for its rows are written under the lock of the process; a list is at most that long.
"""

from dataclasses import dataclass
from datetime import datetime

from workers.store.db import dialect

#: A page is drawn anew at least this often.
FRESH_SECONDS = 15
#: One of figures, which are those of minutes, at least this often.
HEALTH_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Marker:
    """What a page shows, in a word, and when it was so by the database's clock."""

    text: str
    at: datetime


def of_process(process_id: int) -> Marker:
    """Return the marker of a page about one process."""
    return _read(
        "(SELECT max(id) FROM workers_journal WHERE process_id = %s)",
        "(SELECT max(id) FROM workers_alert WHERE process_id = %s)",
        "(SELECT max(acknowledged_at) FROM workers_alert WHERE process_id = %s)",
        params=[process_id] * 3,
    )


def of_everything(*more: object) -> Marker:
    """Return the marker of a list of processes, or of what goes with them.

    ``more`` is what else the list depends on.
    """
    return _read(
        "(SELECT max(id) FROM workers_journal)",
        "(SELECT max(id) FROM workers_alert)",
        "(SELECT max(acknowledged_at) FROM workers_alert WHERE acknowledged_at IS NOT NULL)",
        more=more,
    )


def of_health() -> Marker:
    """Return the marker of the pages about figures: they are new once a minute, and marks are."""
    return _read(
        "(SELECT max(at) FROM workers_gauge WHERE span = 60)",
        "(SELECT cursor FROM workers_lease WHERE name = 'health')",
        "(SELECT max(id) FROM workers_journal WHERE process_id IS NULL)",
        "(SELECT max(id) FROM workers_incident)",
        "(SELECT max(looked_at) FROM workers_proberesult)",
        fresh_seconds=HEALTH_SECONDS,
    )


def _read(
    *newest: str,
    params: list[int] | None = None,
    more: tuple[object, ...] = (),
    fresh_seconds: int = FRESH_SECONDS,
) -> Marker:
    """Read what is newest, each by the end of an index, and the clock: one statement."""
    clock, clock_params = dialect.clock(None)
    row = dialect.fetch(f"SELECT {clock}, {', '.join(newest)}", [*clock_params, *(params or [])])[0]
    at = dialect.instant(row[0])
    assert at is not None
    period = int(at.timestamp() // fresh_seconds)
    return Marker("|".join(str(fact) for fact in (period, *row[1:], *more)), at)
