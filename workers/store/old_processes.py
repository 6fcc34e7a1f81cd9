"""Processes that ended long ago: first their journal goes, then they themselves.

In portions that hold no lock for long, the oldest end first.  Those with an open alert stay, those
whose submitter has not been told everything, and children of a process that has not ended.

What an application keeps of a process goes by Django's own rule for its foreign key: CASCADE
takes it along, SET_NULL leaves it, and PROTECT keeps the process until the application has
deleted it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models.deletion import PROTECT, RESTRICT, ProtectedError, RestrictedError

from workers.conf import sas
from workers.models import Process
from workers.rules.rows import Entry
from workers.runtime.failpoints import durable
from workers.runtime.worker_identity import me
from workers.store import isolation, journal, leases, sinks
from workers.store.db import dialect

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: A process's place among those that may go: when it ended, and its id.
Place = tuple[datetime, int]

#: Selects what ended before an instant.
_ENDED = "finished_at < %s AND finished_at IS NOT NULL"
_SETTLED = (
    "NOT EXISTS (SELECT 1 FROM workers_sink k WHERE k.process_id = p.id AND k.cursor < k.last)"
    " AND NOT EXISTS (SELECT 1 FROM workers_alert a WHERE a.process_id = p.id"
    " AND a.acknowledged_at IS NULL)"
    # Its parent may yet have it undone.
    " AND (p.group_id IS NULL OR NOT EXISTS (SELECT 1 FROM workers_childgroup g"
    " JOIN workers_step s ON s.id = g.step_id JOIN workers_process q ON q.id = s.process_id"
    " WHERE g.id = p.group_id AND q.finished_at IS NULL))"
)


@dataclass(frozen=True, slots=True)
class OldProcesses:
    """What goes of processes that ended long ago."""

    #: The lease row whose cursor says how far the last round came.
    name: str
    #: SQL for those among the ended ones of which it is still to go.
    condition: str
    kept: Callable[[], timedelta]
    #: Has it go of some processes, whose rows are locked; returns of how many it went.
    clear: Callable[[list[int], datetime | None], int]

    def count(self, now: datetime | None = None, *, are_held_back: bool = False) -> int:
        """Count the processes of which it may go, or those that have to stay whole."""
        settled = f"NOT ({_SETTLED})" if are_held_back else _SETTLED
        rows = dialect.fetch(
            f"SELECT count(*) FROM workers_process p WHERE {_ENDED} AND {self.condition}"
            f" AND {settled}",
            [self._before(now)],
        )
        return int(rows[0][0])

    def prune(self, limit: int, now: datetime | None = None) -> Iterator[int]:
        """Have it go of old processes, ``limit`` a transaction; yield of how many each time.

        Begins where the last round stopped: those which must stay are not looked at first every
        time.  A round ends after the newest.
        """
        # Makes the row with the cursor.
        leases.is_due(self.name, 0, now)
        place: Place | None = (_EPOCH + leases.cursor(self.name) * _MICROSECOND, 0)
        while place is not None:
            with durable("old_processes.prune"):
                ids, place = self._lock(place, limit, now)
                done = self.clear(ids, now)
            leases.set_cursor(self.name, (place[0] - _EPOCH) // _MICROSECOND if place else 0)
            yield done

    def _lock(
        self, after: Place, limit: int, now: datetime | None
    ) -> tuple[list[int], Place | None]:
        """Lock the next old ones; return those that may go, and the place behind all of them."""
        rows = dialect.fetch(
            f"SELECT p.id, p.finished_at FROM workers_process p WHERE p.{_ENDED}"
            f" AND {self.condition} AND (p.finished_at, p.id) > (%s, %s)"
            " ORDER BY p.finished_at, p.id LIMIT %s " + dialect.lock_rows("p", skip_locked=True),
            [self._before(now), dialect.instant_text(after[0]), after[1], limit],
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

    def _before(self, now: datetime | None) -> str:
        return dialect.instant_text(dialect.read_clock(now) - self.kept())


def _delete_from(table: str, process_ids: Sequence[int]) -> None:
    dialect.execute(
        f"DELETE FROM {table} WHERE {dialect.among('process_id')}", [dialect.id_list(process_ids)]
    )


def _clear_journals(ids: list[int], now: datetime | None) -> int:
    alert = isolation.alerting("process", "prune the journal of", now)
    return sum(isolation.deleted_apart(ids, lambda part: _delete_journals(part, now), alert))


def _delete_journals(ids: Sequence[int], now: datetime | None) -> int:
    at = dialect.read_clock(now)
    params = [dialect.id_list(ids)]
    counts = dialect.fetch(
        "SELECT process_id, count(*) FROM workers_journal"
        f" WHERE {dialect.among('process_id')} GROUP BY process_id ORDER BY process_id",
        params,
    )
    for table in ("workers_journal", "workers_sink"):
        _delete_from(table, ids)
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


def _clear_whole(ids: list[int], now: datetime | None) -> int:
    """Delete processes except those that an application's rows protect; return how many."""
    keys: list[Any] = Process._meta.get_fields(include_hidden=True)
    for key in keys:
        if ids and getattr(key, "on_delete", None) in (PROTECT, RESTRICT):
            lookup = f"{key.field.name}__pk"
            rows = key.related_model._base_manager.filter(**{f"{lookup}__in": ids})
            protected = set(rows.values_list(lookup, flat=True))
            ids = [pk for pk in ids if pk not in protected]
    alert = isolation.alerting("process", "prune", now)

    def leave(process_id: int, error: Exception) -> None:
        # By the application's own rule: a row that would go along is protected.
        if not isinstance(error, ProtectedError | RestrictedError):
            alert(process_id, error)

    return sum(isolation.deleted_apart(ids, _delete_whole, leave))


def _delete_whole(ids: Sequence[int]) -> int:
    groups = (
        "SELECT g.id FROM workers_childgroup g JOIN workers_step s ON s.id = g.step_id"
        f" WHERE {dialect.among('s.process_id')}"
    )
    params = [dialect.id_list(ids)]
    dialect.execute(f"DELETE FROM workers_child WHERE group_id IN ({groups})", params)
    dialect.execute(f"DELETE FROM workers_childgroup WHERE id IN ({groups})", params)
    for table in ("workers_journal", "workers_sink", "workers_attribute", "workers_step"):
        _delete_from(table, ids)
    # Django finds the rows of applications, and follows their foreign keys.
    Process.objects.filter(pk__in=ids).delete()
    return len(ids)


#: The process, its steps and their results record how an order ended, and stay until their own age.
JOURNALS = OldProcesses(
    "prune_journals",
    "pruned_at IS NULL",
    # A process goes without its journal: that goes first.
    kept=lambda: timedelta(days=min(sas.keep_journal_days, sas.keep_processes_days)),
    clear=_clear_journals,
)
PROCESSES = OldProcesses(
    "prune_processes",
    # Its journal is gone, and every row of its own that is kept for another time.
    "pruned_at IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM workers_alert a WHERE a.process_id = p.id)"
    " AND NOT EXISTS (SELECT 1 FROM workers_undorequest u WHERE u.process_id = p.id)",
    kept=lambda: timedelta(days=sas.keep_processes_days),
    clear=_clear_whole,
)
