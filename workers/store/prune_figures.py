"""Deleting figures that are older than their span is kept."""

from collections.abc import Iterator
from datetime import datetime

from workers.rules.minutes import KEPT
from workers.runtime.failpoints import durable
from workers.states import Span
from workers.store.db import dialect

_TABLES = ("workers_minute", "workers_gauge")


def old_figures(now: datetime | None = None) -> int:
    """Count the rows that may go."""
    return sum(
        dialect.fetch(
            f"SELECT count(*) FROM {table} WHERE span = %s AND at < %s", [int(span), bound]
        )[0][0]
        for table in _TABLES
        for span, bound in _bounds(now)
    )


def prune_figures(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete the oldest figures, ``limit`` rows a transaction; yield how many each time."""
    for table in _TABLES:
        for span, bound in _bounds(now):
            done = limit
            while done == limit:
                with durable("prune_figures.prune_figures"):
                    done = dialect.execute(
                        f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table}"
                        " WHERE span = %s AND at < %s ORDER BY at LIMIT %s)",
                        [int(span), bound, limit],
                    )
                yield done


def _bounds(now: datetime | None) -> list[tuple[Span, str]]:
    at = dialect.read_clock(now)
    return [(span, dialect.instant_text(at - kept)) for span, kept in KEPT.items()]
