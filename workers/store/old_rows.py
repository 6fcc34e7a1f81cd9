"""Rows of a table that are old: which, after how long, in what order, and which go with them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.conf import sas
from workers.runtime.failpoints import durable
from workers.store import isolation
from workers.store.db import dialect


def _journal_days() -> timedelta:
    return timedelta(days=sas.keep_journal_days)


def resolved_days() -> timedelta:
    return timedelta(days=sas.keep_resolved_days)


@dataclass(frozen=True, slots=True)
class OldRows:
    """Rows of one table to delete once they are old."""

    table: str
    #: SQL for the old rows; its one ``%s`` is the instant since which rows are kept.
    condition: str
    order: str
    kept: Callable[[], timedelta] = resolved_days
    #: Rows to delete first: their table, and the column that refers to this table.
    parts: tuple[tuple[str, str], ...] = ()

    def count(self, now: datetime | None = None) -> int:
        """Count the rows that may be deleted."""
        rows = dialect.fetch(
            f"SELECT count(*) FROM {self.table} WHERE {self.condition}", [self._oldest_kept(now)]
        )
        return int(rows[0][0])

    def prune(self, limit: int, now: datetime | None = None) -> Iterator[int]:
        """Delete old rows, ``limit`` a transaction; yield how many each time."""
        oldest = self._oldest_kept(now)

        def delete(ids: Sequence[int]) -> tuple[int, bool]:
            has_more = self._delete_parts(ids, limit)
            return 0 if has_more else self._delete(ids, oldest), has_more

        is_over = False
        while not is_over:
            with durable("old_rows.prune"):
                ids = self._next(limit, oldest, now)
                leave = isolation.alerting(self.table, "prune", now)
                parts = isolation.deleted_apart(ids, delete, leave)
            is_over = len(ids) < limit and not any(has_more for _, has_more in parts)
            yield sum(number for number, _ in parts)

    def _next(self, limit: int, oldest: str, now: datetime | None) -> list[int]:
        # Lock rows that have parts, so that none is reopened while its parts are deleted.
        lock = dialect.lock_rows(self.table, skip_locked=True) if self.parts else ""
        moment, params = dialect.clock(now)
        unusable = isolation.is_at_rest(self.table, "prune", f"{self.table}.id", moment)
        rows = dialect.fetch(
            f"SELECT {self.table}.id FROM {self.table} WHERE {self.condition}"
            f" AND NOT {unusable} ORDER BY {self.order} LIMIT %s {lock}",
            [oldest, *params, limit],
        )
        return [row[0] for row in rows]

    def _delete_parts(self, ids: Sequence[int], limit: int) -> bool:
        """Delete ``limit`` rows of each table of parts; say whether there may be more."""
        counts = [
            dialect.execute(
                f"DELETE FROM {table} WHERE id IN"
                f" (SELECT id FROM {table} WHERE {dialect.among(column)} LIMIT %s)",
                [dialect.id_list(ids), limit],
            )
            for table, column in self.parts
        ]
        return limit in counts

    def _delete(self, ids: Sequence[int], oldest: str) -> int:
        # Check again: a row may have been reopened since it was selected.
        return dialect.execute(
            f"DELETE FROM {self.table} WHERE {dialect.among('id')} AND {self.condition}",
            [dialect.id_list(ids), oldest],
        )

    def _oldest_kept(self, now: datetime | None) -> str:
        return dialect.instant_text(dialect.read_clock(now) - self.kept())


#: Rows without a process: holds, windows, rates, breakers.
FLOW_JOURNAL = OldRows(
    "workers_journal", "process_id IS NULL AND at < %s", "id", kept=_journal_days
)
ALERTS = OldRows(
    "workers_alert",
    # A process in error must keep its alert.
    "acknowledged_at < %s AND acknowledged_at IS NOT NULL AND NOT EXISTS (SELECT 1"
    " FROM workers_process p WHERE p.id = workers_alert.process_id AND p.finished_at IS NULL)",
    "acknowledged_at",
)
#: Decided or expired by then.
UNDO_REQUESTS = OldRows("workers_undorequest", "asked_at < %s", "asked_at")
#: A signature is valid for minutes, but providers resend unacknowledged webhooks for days, signed
#: anew each time, and on request for weeks.
WEBHOOKS = OldRows(
    "workers_receivedwebhook",
    "received_at < %s",
    "received_at",
    kept=lambda: timedelta(days=45),
)
