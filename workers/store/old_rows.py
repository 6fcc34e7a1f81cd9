"""Rows that go once they are old: which, after how long, in what order, and what goes with them.

Deleted in small transactions, which hold no lock for long.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.conf import sas
from workers.runtime.failpoints import durable
from workers.store.db import dialect


@dataclass(frozen=True, slots=True)
class OldRows:
    """Rows of one table that go once they are old."""

    table: str
    #: Selects the old rows; its one ``%s`` is the instant since which rows are kept.
    condition: str
    order: str
    kept: Callable[[], timedelta]
    #: Rows that are deleted first: their table, and the column that refers to this one.
    parts: tuple[tuple[str, str], ...] = ()


def _journal_days() -> timedelta:
    return timedelta(days=sas.keep_journal_days)


def resolved_days() -> timedelta:
    return timedelta(days=sas.keep_resolved_days)


#: Rows of no process: holds, windows, rates, breakers.
FLOW_JOURNAL = OldRows(
    "workers_journal", "process_id IS NULL AND at < %s", "id", kept=_journal_days
)
ALERTS = OldRows(
    "workers_alert",
    # An error must have its alert as long as it stands.
    "acknowledged_at < %s AND acknowledged_at IS NOT NULL AND NOT EXISTS (SELECT 1"
    " FROM workers_process p WHERE p.id = workers_alert.process_id AND p.finished_at IS NULL)",
    "acknowledged_at",
    kept=resolved_days,
)
#: Decided by now, or expired since.
UNDO_REQUESTS = OldRows("workers_undorequest", "asked_at < %s", "asked_at", kept=resolved_days)
#: A signature is good for minutes, but providers send what was not acknowledged again for days,
#: each time newly signed, and on request for weeks.
WEBHOOKS = OldRows(
    "workers_receivedwebhook",
    "received_at < %s",
    "received_at",
    kept=lambda: timedelta(days=45),
)


def count(rows: OldRows, now: datetime | None = None) -> int:
    """Count the rows that may go."""
    found = dialect.fetch(
        f"SELECT count(*) FROM {rows.table} WHERE {rows.condition}", [_before(rows, now)]
    )
    return int(found[0][0])


def prune(rows: OldRows, limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete the rows that may go, ``limit`` a transaction; yield how many each time."""
    before = _before(rows, now)
    is_over = False
    while not is_over:
        with durable("old_rows.prune"):
            ids = _next(rows, limit, before)
            has_more = _delete_parts(rows, ids, limit)
            done = 0 if has_more else _delete(rows, ids, before)
        is_over = len(ids) < limit and not has_more
        yield done


def _next(rows: OldRows, limit: int, before: str) -> list[int]:
    # Lock rows that have parts, so that none is reopened while these are deleted.
    lock = dialect.lock_rows(rows.table, skip_locked=True) if rows.parts else ""
    found = dialect.fetch(
        f"SELECT {rows.table}.id FROM {rows.table} WHERE {rows.condition}"
        f" ORDER BY {rows.order} LIMIT %s {lock}",
        [before, limit],
    )
    return [row[0] for row in found]


def _delete_parts(rows: OldRows, ids: list[int], limit: int) -> bool:
    """Delete ``limit`` rows of each table of parts; say whether there may be more."""
    done = [
        dialect.execute(
            f"DELETE FROM {table} WHERE id IN"
            f" (SELECT id FROM {table} WHERE {dialect.among(column)} LIMIT %s)",
            [dialect.id_list(ids), limit],
        )
        for table, column in rows.parts
    ]
    return limit in done


def _delete(rows: OldRows, ids: list[int], before: str) -> int:
    # Check again: a row may have been reopened since it was selected.
    return dialect.execute(
        f"DELETE FROM {rows.table} WHERE {dialect.among('id')} AND {rows.condition}",
        [dialect.id_list(ids), before],
    )


def _before(rows: OldRows, now: datetime | None) -> str:
    return dialect.instant_text(dialect.read_clock(now) - rows.kept())
