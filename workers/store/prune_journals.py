"""Pruning journals of processes that ended long ago, in portions that hold no lock for long.

A process, its steps and their results stay: they say how an order ended, and the order's row
refers to them.  Its journal goes.  Nothing is deleted of a process that is not final, that has an
open alert, or whose submitter has not been told everything.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from workers.conf import sas
from workers.rules.rows import Entry
from workers.runtime.failpoints import durable
from workers.runtime.worker_identity import me
from workers.store import journal, leases
from workers.store.db import dialect

#: Names of the lease rows whose cursors say how far the last round came.
JOURNALS = "prune"
ORPHANS = "prune_orphans"
#: Journal rows that are looked at for their process, in one round.
ORPHANS_LOOKED_AT = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: A process's place among those that may be pruned: when it ended, and its id.
_Place = tuple[datetime, int]

_OLD = "finished_at < %s AND finished_at IS NOT NULL AND pruned_at IS NULL"
_SETTLED = (
    "NOT EXISTS (SELECT 1 FROM workers_sink k WHERE k.process_id = p.id AND k.cursor < k.last)"
    " AND NOT EXISTS (SELECT 1 FROM workers_alert a WHERE a.process_id = p.id"
    " AND a.acknowledged_at IS NULL)"
)


def prunable(now: datetime | None = None) -> int:
    """Count the processes whose journal may go."""
    found = dialect.fetch(
        f"SELECT count(*) FROM workers_process p WHERE p.{_OLD} AND {_SETTLED}",
        [_cutoff(now)],
    )
    return int(found[0][0])


def held_back(now: datetime | None = None) -> int:
    """Count the processes old enough that stay whole: an open alert, or somebody not told."""
    found = dialect.fetch(
        f"SELECT count(*) FROM workers_process p WHERE p.{_OLD} AND NOT ({_SETTLED})",
        [_cutoff(now)],
    )
    return int(found[0][0])


def prune_journals(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Prune old journals, ``limit`` processes a transaction; yield how many each time.

    Goes on where the last round stopped, so that those which must stay are not looked at
    first every time, and ends after the newest.
    """
    place: _Place | None = (_EPOCH + leases.cursor(JOURNALS) * _MICROSECOND, 0)
    while place is not None:
        done, place = _prune_portion(place, limit, now)
        leases.set_cursor(JOURNALS, (place[0] - _EPOCH) // _MICROSECOND if place else 0)
        yield done


def _prune_portion(after: _Place, limit: int, now: datetime | None) -> tuple[int, _Place | None]:
    """Prune among the next ``limit`` old processes; return how many, and where to go on."""
    with durable("prune_journals.prune_journals"):
        found = dialect.fetch(
            f"SELECT p.id, p.finished_at FROM workers_process p WHERE p.{_OLD}"
            " AND (p.finished_at, p.id) > (%s, %s) ORDER BY p.finished_at, p.id LIMIT %s "
            + dialect.lock_rows("p", skip_locked=True),
            [_cutoff(now), dialect.instant_text(after[0]), after[1], limit],
        )
        ids = [row[0] for row in found]
        # Under their locks: an operator may have one told again at this instant.
        dialect.fetch(
            f"SELECT k.id FROM workers_sink k WHERE {dialect.among('k.process_id')} ORDER BY k.id "
            + dialect.lock_rows("k"),
            [dialect.id_list(ids)],
        )
        settled = dialect.fetch(
            f"SELECT p.id FROM workers_process p WHERE {dialect.among('p.id')} AND {_SETTLED}",
            [dialect.id_list(ids)],
        )
        _prune([row[0] for row in settled], now)
    last = dialect.instant(found[-1][1]) if len(found) == limit else None
    return len(settled), None if last is None else (last, ids[-1])


def _prune(ids: list[int], now: datetime | None) -> None:
    if not ids:
        return
    at = dialect.read_clock(now)
    these = [dialect.id_list(ids)]
    counts = dialect.fetch(
        "SELECT process_id, count(*) FROM workers_journal"
        f" WHERE {dialect.among('process_id')} GROUP BY process_id ORDER BY process_id",
        these,
    )
    dialect.execute(f"DELETE FROM workers_journal WHERE {dialect.among('process_id')}", these)
    dialect.execute(f"DELETE FROM workers_sink WHERE {dialect.among('process_id')}", these)
    dialect.execute(
        f"UPDATE workers_process SET pruned_at = %s WHERE {dialect.among('id')}",
        [dialect.instant_text(at), *these],
    )
    actor = me("supervisor")
    journal.write(
        [
            Entry(process_id=process_id, event="pruned", actor=actor, detail={"rows": count})
            for process_id, count in counts
        ],
        at,
    )


def prune_orphans(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete journal rows whose process is gone; yield how many.

    None should exist: journals have no foreign key in the database, so only who deletes a
    process by hand leaves some.  Each round looks at the next rows, so that it costs the same
    however many there are.
    """
    # Makes the row whose cursor says how far the last round came.
    leases.is_due(ORPHANS, 0, now)
    after = leases.cursor(ORPHANS)
    found = dialect.fetch(
        "SELECT process_id FROM workers_journal WHERE process_id > %s"
        " ORDER BY process_id, id LIMIT %s",
        [after, ORPHANS_LOOKED_AT],
    )
    ids = sorted({row[0] for row in found})
    known = dialect.fetch(
        f"SELECT id FROM workers_process WHERE {dialect.among('id')}", [dialect.id_list(ids)]
    )
    gone = sorted(set(ids) - {row[0] for row in known})
    for begin in range(0, len(gone), limit):
        with durable("prune_journals.prune_orphans"):
            done = dialect.execute(
                f"DELETE FROM workers_journal WHERE {dialect.among('process_id')}",
                [dialect.id_list(gone[begin : begin + limit])],
            )
        yield done
    leases.set_cursor(ORPHANS, ids[-1] if len(found) == ORPHANS_LOOKED_AT else 0)


def _cutoff(now: datetime | None) -> str:
    return dialect.instant_text(dialect.read_clock(now) - timedelta(days=sas.keep_journal_days))
