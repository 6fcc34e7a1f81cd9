"""Pruning: delete what ended long ago, in small portions that hold no lock for long.

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


def cutoff(days: float, now: datetime | None = None) -> str:
    """Return the instant so many days ago, as the database compares it."""
    return dialect.instant_text(dialect.read_clock(now) - timedelta(days=days))


def prunable(now: datetime | None = None) -> int:
    """Count the processes whose journal may go."""
    found = dialect.fetch(
        f"SELECT count(*) FROM workers_process p WHERE p.{_OLD} AND {_SETTLED}",
        [cutoff(sas.keep_journal_days, now)],
    )
    return int(found[0][0])


def held_back(now: datetime | None = None) -> int:
    """Count the processes old enough that stay whole: an open alert, or somebody not told."""
    found = dialect.fetch(
        f"SELECT count(*) FROM workers_process p WHERE p.{_OLD} AND NOT ({_SETTLED})",
        [cutoff(sas.keep_journal_days, now)],
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
    with durable("prune_rows.prune_journals"):
        found = dialect.fetch(
            f"SELECT p.id, p.finished_at FROM workers_process p WHERE p.{_OLD}"
            " AND (p.finished_at, p.id) > (%s, %s) ORDER BY p.finished_at, p.id LIMIT %s "
            + dialect.lock_rows("p", skip_locked=True),
            [cutoff(sas.keep_journal_days, now), dialect.instant_text(after[0]), after[1], limit],
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


def prune_flow_journal(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete old journal rows of what belongs to no process: holds, windows, rates, breakers."""
    yield from _delete(
        "workers_journal",
        "process_id IS NULL AND at < %s",
        "id",
        cutoff(sas.keep_journal_days, now),
        limit,
    )


def prune_alerts(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete alerts that were acknowledged long ago, and whose process is final."""
    yield from _delete(
        "workers_alert",
        _DEALT_WITH,
        "acknowledged_at",
        cutoff(sas.keep_resolved_days, now),
        limit,
    )


#: An error must have its alert as long as it stands.
_DEALT_WITH = (
    "acknowledged_at < %s AND acknowledged_at IS NOT NULL AND NOT EXISTS (SELECT 1"
    " FROM workers_process p WHERE p.id = workers_alert.process_id AND p.finished_at IS NULL)"
)


def old_alerts(now: datetime | None = None) -> int:
    """Count the alerts that may go."""
    found = dialect.fetch(
        f"SELECT count(*) FROM workers_alert WHERE {_DEALT_WITH}",
        [cutoff(sas.keep_resolved_days, now)],
    )
    return int(found[0][0])


def prune_deliveries(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete deliveries that were noted long ago, and whose incidents are resolved."""
    than = cutoff(sas.keep_resolved_days, now)
    # What a digest tells of goes before the digest.
    yield from _delete("workers_delivery", _NOTED, "at, id DESC", than, limit)


#: As long as an incident stands, its deliveries say who knows of it.
_NOTED = (
    "at < %s AND NOT EXISTS (SELECT 1 FROM workers_incident i"
    " WHERE i.id = workers_delivery.incident_id AND i.resolved_at IS NULL)"
    " AND NOT EXISTS (SELECT 1 FROM workers_delivery g JOIN workers_incident i"
    " ON i.id = g.incident_id WHERE g.digest_id = workers_delivery.id AND i.resolved_at IS NULL)"
)


def old_deliveries(now: datetime | None = None) -> int:
    """Count the deliveries that may go."""
    found = dialect.fetch(
        f"SELECT count(*) FROM workers_delivery WHERE {_NOTED}",
        [cutoff(sas.keep_resolved_days, now)],
    )
    return int(found[0][0])


#: Its alerts and its deliveries go before it: they have it in their rows.
_OVER = (
    "resolved_at < %s AND resolved_at IS NOT NULL AND NOT EXISTS (SELECT 1"
    " FROM workers_alert a WHERE a.incident_id = workers_incident.id)"
    " AND NOT EXISTS (SELECT 1 FROM workers_delivery d WHERE d.incident_id = workers_incident.id)"
)


def old_incidents(now: datetime | None = None) -> int:
    """Count the incidents that may go."""
    found = dialect.fetch(
        f"SELECT count(*) FROM workers_incident WHERE {_OVER}",
        [cutoff(sas.keep_resolved_days, now)],
    )
    return int(found[0][0])


def prune_incidents(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete incidents that were resolved long ago, and whose alerts are gone, with their notes."""
    than = cutoff(sas.keep_resolved_days, now)
    while True:
        with durable("prune_rows.prune_incidents"):
            # Locked, so that none is reopened meanwhile.
            locked = dialect.fetch(
                "SELECT workers_incident.id FROM workers_incident WHERE "
                f"{_OVER} ORDER BY resolved_at LIMIT %s "
                + dialect.lock_rows("workers_incident", skip_locked=True),
                [than, limit],
            )
            ids = [dialect.id_list([row[0] for row in locked])]
            dialect.execute(f"DELETE FROM workers_note WHERE {dialect.among('incident_id')}", ids)
            dialect.execute(f"DELETE FROM workers_incident WHERE {dialect.among('id')}", ids)
        yield len(locked)
        if len(locked) < limit:
            return


def _delete(table: str, old: str, order: str, than: str, limit: int) -> Iterator[int]:
    while True:
        with durable("prune_rows.delete"):
            done = dialect.execute(
                f"DELETE FROM {table} WHERE id IN (SELECT {table}.id FROM {table} WHERE {old}"
                f" ORDER BY {order} LIMIT %s)",
                [than, limit],
            )
        yield done
        if done < limit:
            return


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
        with durable("prune_rows.prune_orphans"):
            done = dialect.execute(
                f"DELETE FROM workers_journal WHERE {dialect.among('process_id')}",
                [dialect.id_list(gone[begin : begin + limit])],
            )
        yield done
    leases.set_cursor(ORPHANS, ids[-1] if len(found) == ORPHANS_LOOKED_AT else 0)
