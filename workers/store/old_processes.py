"""Processes that ended long ago, in portions that hold no lock for long, the oldest end first.

Those with an open alert stay, and those whose submitter has not been told everything.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from workers.store import leases, sinks
from workers.store.db import dialect

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: A process's place among those that may be pruned: when it ended, and its id.
Place = tuple[datetime, int]

#: Selects what ended before an instant; each that prunes has a condition more.
ENDED = "finished_at < %s AND finished_at IS NOT NULL"
_SETTLED = (
    "NOT EXISTS (SELECT 1 FROM workers_sink k WHERE k.process_id = p.id AND k.cursor < k.last)"
    " AND NOT EXISTS (SELECT 1 FROM workers_alert a WHERE a.process_id = p.id"
    " AND a.acknowledged_at IS NULL)"
)


def count(condition: str, before: str, *, are_held_back: bool = False) -> int:
    """Count the processes that ended before an instant and may go, or those that have to stay."""
    settled = f"NOT ({_SETTLED})" if are_held_back else _SETTLED
    rows = dialect.fetch(
        f"SELECT count(*) FROM workers_process p WHERE {ENDED} AND {condition} AND {settled}",
        [before],
    )
    return int(rows[0][0])


def walk(name: str, portion: Callable[[Place], tuple[int, Place | None]]) -> Iterator[int]:
    """Call ``portion`` with one place after another; yield how many each of them pruned.

    The lease row ``name`` says how far the last round came: those which must stay are not looked
    at first every time.  A round ends after the newest.
    """
    place: Place | None = (_EPOCH + leases.cursor(name) * _MICROSECOND, 0)
    while place is not None:
        done, place = portion(place)
        leases.set_cursor(name, (place[0] - _EPOCH) // _MICROSECOND if place else 0)
        yield done


def lock(condition: str, before: str, after: Place, limit: int) -> tuple[list[int], Place | None]:
    """Lock the next old processes; return those that may go, and the place behind all of them."""
    rows = dialect.fetch(
        f"SELECT p.id, p.finished_at FROM workers_process p WHERE p.{ENDED} AND {condition}"
        " AND (p.finished_at, p.id) > (%s, %s) ORDER BY p.finished_at, p.id LIMIT %s "
        + dialect.lock_rows("p", skip_locked=True),
        [before, dialect.instant_text(after[0]), after[1], limit],
    )
    ids = [row[0] for row in rows]
    # Under their locks: an operator may have one told again at this instant.
    sinks.lock(ids)
    settled = dialect.fetch(
        f"SELECT p.id FROM workers_process p WHERE {dialect.among('p.id')} AND {_SETTLED}"
        " ORDER BY p.id",
        [dialect.id_list(ids)],
    )
    last = dialect.instant(rows[-1][1]) if len(rows) == limit else None
    return [row[0] for row in settled], None if last is None else (last, ids[-1])
