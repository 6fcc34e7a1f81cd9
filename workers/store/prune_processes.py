"""Deleting processes that ended long ago, with their steps and what is left of their journal.

What an application keeps of a process goes by Django's own rule for its foreign key: CASCADE
takes it along, SET_NULL leaves it, and PROTECT keeps the process until the application has
deleted it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models.deletion import PROTECT, RESTRICT, ProtectedError, RestrictedError

from workers.conf import sas
from workers.models import Process
from workers.runtime.failpoints import durable
from workers.store import isolation, leases, old_processes
from workers.store.db import dialect
from workers.store.old_processes import Place

#: Name of the lease row whose cursor says how far the last round came.
PROCESSES = "prune_processes"
#: Its journal is gone, and every row of its own that is kept for another time.
_PRUNED = (
    "pruned_at IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM workers_alert a WHERE a.process_id = p.id)"
    " AND NOT EXISTS (SELECT 1 FROM workers_undorequest u WHERE u.process_id = p.id)"
)
_PARTS = ("workers_journal", "workers_sink", "workers_step")


def prunable(now: datetime | None = None) -> int:
    """Count the processes that may go; not whether an application's rows protect some."""
    return old_processes.count(_PRUNED, _cutoff(now))


def prune_processes(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete old processes, ``limit`` a transaction; yield how many each time."""

    def portion(after: Place) -> tuple[int, Place | None]:
        with durable("prune_processes.prune_processes"):
            ids, place = old_processes.lock(_PRUNED, _cutoff(now), after, limit)
            done = _delete_unprotected(ids, now)
        return done, place

    # Makes the row whose cursor says how far the last round came.
    leases.is_due(PROCESSES, 0, now)
    return old_processes.walk(PROCESSES, portion)


def _delete_unprotected(ids: list[int], now: datetime | None) -> int:
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

    return sum(isolation.deleted_apart(ids, _delete, leave))


def _delete(ids: Sequence[int]) -> int:
    for table in _PARTS:
        dialect.execute(
            f"DELETE FROM {table} WHERE {dialect.among('process_id')}", [dialect.id_list(ids)]
        )
    # Django finds the rows of applications, and follows their foreign keys.
    Process.objects.filter(pk__in=ids).delete()
    return len(ids)


def _cutoff(now: datetime | None) -> str:
    return dialect.instant_text(dialect.read_clock(now) - timedelta(days=sas.keep_processes_days))
