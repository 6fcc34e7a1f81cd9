"""Prune journals of processes that ended long ago.

Deletes only the journal: the process, its steps and their results record how an order ended, and
stay until their own age (``prune_processes``).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from workers.conf import sas
from workers.rules.rows import Entry
from workers.runtime.failpoints import durable
from workers.runtime.worker_identity import me
from workers.store import isolation, journal, leases, old_processes
from workers.store.db import dialect
from workers.store.old_processes import Place

#: Names of the lease rows whose cursors are where the last round stopped.
JOURNALS = "prune"
ORPHANS = "prune_orphans"
#: How many journal rows one round checks for a missing process.
ORPHANS_LOOKED_AT = 1000

_WHOLE = "pruned_at IS NULL"


def prunable(now: datetime | None = None) -> int:
    """Count the processes whose journal may be pruned."""
    return old_processes.count(_WHOLE, _cutoff(now))


def held_back(now: datetime | None = None) -> int:
    """Count old processes that keep their journal: an open alert, or a submitter not told."""
    return old_processes.count(_WHOLE, _cutoff(now), are_held_back=True)


def prune_journals(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Prune old journals, ``limit`` processes per transaction; yield how many each time."""

    def portion(after: Place) -> tuple[int, Place | None]:
        with durable("prune_journals.prune_journals"):
            ids, place = old_processes.lock(_WHOLE, _cutoff(now), after, limit)
            alert = isolation.alerting("process", "prune the journal of", now)
            done = isolation.deleted_apart(ids, lambda part: _prune(part, now), alert)
        return sum(done), place

    return old_processes.walk(JOURNALS, portion)


def _prune(ids: Sequence[int], now: datetime | None) -> int:
    at = dialect.read_clock(now)
    params = [dialect.id_list(ids)]
    counts = dialect.fetch(
        "SELECT process_id, count(*) FROM workers_journal"
        f" WHERE {dialect.among('process_id')} GROUP BY process_id ORDER BY process_id",
        params,
    )
    _delete_journals(ids)
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
    return len(ids)


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
            count = sum(
                isolation.deleted_apart(
                    missing[begin : begin + limit],
                    _delete_journals,
                    isolation.alerting("journal of process", "prune", now),
                )
            )
        yield count
    leases.set_cursor(ORPHANS, ids[-1] if len(rows) == ORPHANS_LOOKED_AT else 0)


def _delete_journals(process_ids: Sequence[int]) -> int:
    return dialect.execute(
        f"DELETE FROM workers_journal WHERE {dialect.among('process_id')}",
        [dialect.id_list(process_ids)],
    )


def _cutoff(now: datetime | None) -> str:
    # A process goes without its journal: that goes first.
    days = min(sas.keep_journal_days, sas.keep_processes_days)
    return dialect.instant_text(dialect.read_clock(now) - timedelta(days=days))
