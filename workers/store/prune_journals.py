"""Prune journals of processes that ended long ago, in portions that hold no lock for long.

Deletes only the journal: the process, its steps and their results stay, because they record how
an order ended, and the order's row refers to them.  Leaves alone a process that is not final,
that has an open alert, or whose submitter has not been told everything.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from workers.conf import sas
from workers.rules.rows import Entry
from workers.runtime.failpoints import durable
from workers.runtime.worker_identity import me
from workers.store import journal, leases
from workers.store.db import dialect

#: Names of the lease rows whose cursors are where the last round stopped.
JOURNALS = "prune"
ORPHANS = "prune_orphans"
#: How many journal rows one round checks for a missing process.
ORPHANS_LOOKED_AT = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: A process's position in the order of pruning: when it ended, and its id.
_Key = tuple[datetime, int]

_OLD = "finished_at < %s AND finished_at IS NOT NULL AND pruned_at IS NULL"
_SETTLED = (
    "NOT EXISTS (SELECT 1 FROM workers_sink k WHERE k.process_id = p.id AND k.cursor < k.last)"
    " AND NOT EXISTS (SELECT 1 FROM workers_alert a WHERE a.process_id = p.id"
    " AND a.acknowledged_at IS NULL)"
)


def prunable(now: datetime | None = None) -> int:
    """Count the processes whose journal may be pruned."""
    rows = dialect.fetch(
        f"SELECT count(*) FROM workers_process p WHERE p.{_OLD} AND {_SETTLED}",
        [_cutoff(now)],
    )
    return int(rows[0][0])


def held_back(now: datetime | None = None) -> int:
    """Count old processes that keep their journal: an open alert, or a submitter not told."""
    rows = dialect.fetch(
        f"SELECT count(*) FROM workers_process p WHERE p.{_OLD} AND NOT ({_SETTLED})",
        [_cutoff(now)],
    )
    return int(rows[0][0])


def prune_journals(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Prune old journals, ``limit`` processes per transaction; yield how many each time.

    Goes on where the last round stopped, so that processes that must keep theirs are not checked
    first every time, and ends after the newest.
    """
    position: _Key | None = (_EPOCH + leases.cursor(JOURNALS) * _MICROSECOND, 0)
    while position is not None:
        count, position = _prune_portion(position, limit, now)
        leases.set_cursor(JOURNALS, (position[0] - _EPOCH) // _MICROSECOND if position else 0)
        yield count


def _prune_portion(start: _Key, limit: int, now: datetime | None) -> tuple[int, _Key | None]:
    """Prune among the next ``limit`` old processes; return how many, and where to continue."""
    with durable("prune_journals.prune_journals"):
        rows = dialect.fetch(
            f"SELECT p.id, p.finished_at FROM workers_process p WHERE p.{_OLD}"
            " AND (p.finished_at, p.id) > (%s, %s) ORDER BY p.finished_at, p.id LIMIT %s "
            + dialect.lock_rows("p", skip_locked=True),
            [_cutoff(now), dialect.instant_text(start[0]), start[1], limit],
        )
        ids = [row[0] for row in rows]
        # Lock the sinks: an operator may be redelivering to one at this moment.
        dialect.fetch(
            f"SELECT k.id FROM workers_sink k WHERE {dialect.among('k.process_id')} ORDER BY k.id "
            + dialect.lock_rows("k"),
            [dialect.id_list(ids)],
        )
        prunable_rows = dialect.fetch(
            f"SELECT p.id FROM workers_process p WHERE {dialect.among('p.id')} AND {_SETTLED}",
            [dialect.id_list(ids)],
        )
        _prune([row[0] for row in prunable_rows], now)
    last = dialect.instant(rows[-1][1]) if len(rows) == limit else None
    return len(prunable_rows), None if last is None else (last, ids[-1])


def _prune(ids: list[int], now: datetime | None) -> None:
    if not ids:
        return
    at = dialect.read_clock(now)
    params = [dialect.id_list(ids)]
    counts = dialect.fetch(
        "SELECT process_id, count(*) FROM workers_journal"
        f" WHERE {dialect.among('process_id')} GROUP BY process_id ORDER BY process_id",
        params,
    )
    dialect.execute(f"DELETE FROM workers_journal WHERE {dialect.among('process_id')}", params)
    dialect.execute(f"DELETE FROM workers_sink WHERE {dialect.among('process_id')}", params)
    dialect.execute(
        f"UPDATE workers_process SET pruned_at = %s WHERE {dialect.among('id')}",
        [dialect.instant_text(at), *params],
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
    """Delete journal rows whose process no longer exists; yield how many.

    None should exist: journals have no foreign key in the database, so only deleting a process by
    hand leaves some.  Each round reads the next rows, so it costs the same however many there are.
    """
    # Inserts the row of the cursor if there is none.
    leases.is_due(ORPHANS, 0, now)
    cursor = leases.cursor(ORPHANS)
    rows = dialect.fetch(
        "SELECT process_id FROM workers_journal WHERE process_id > %s"
        " ORDER BY process_id, id LIMIT %s",
        [cursor, ORPHANS_LOOKED_AT],
    )
    ids = sorted({row[0] for row in rows})
    existing = dialect.fetch(
        f"SELECT id FROM workers_process WHERE {dialect.among('id')}", [dialect.id_list(ids)]
    )
    missing = sorted(set(ids) - {row[0] for row in existing})
    for begin in range(0, len(missing), limit):
        with durable("prune_journals.prune_orphans"):
            count = dialect.execute(
                f"DELETE FROM workers_journal WHERE {dialect.among('process_id')}",
                [dialect.id_list(missing[begin : begin + limit])],
            )
        yield count
    leases.set_cursor(ORPHANS, ids[-1] if len(rows) == ORPHANS_LOOKED_AT else 0)


def _cutoff(now: datetime | None) -> str:
    return dialect.instant_text(dialect.read_clock(now) - timedelta(days=sas.keep_journal_days))
