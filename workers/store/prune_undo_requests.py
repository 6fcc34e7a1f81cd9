"""Deleting requests to undo that were made long ago: decided by now, or expired since."""

from collections.abc import Iterator
from datetime import datetime

from workers.conf import sas
from workers.runtime.failpoints import durable
from workers.store.db import dialect
from workers.store.prune_rows import cutoff

_OLD = "SELECT id FROM workers_undorequest WHERE asked_at < %s"


def old_undo_requests(now: datetime | None = None) -> int:
    """Count the requests that may go."""
    found = dialect.fetch(f"SELECT count(*) FROM ({_OLD}) r", [cutoff(sas.keep_resolved_days, now)])
    return int(found[0][0])


def prune_undo_requests(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete old requests, a portion at a time; yield after each how many that were."""
    than = cutoff(sas.keep_resolved_days, now)
    while True:
        with durable("prune_undo_requests.prune_undo_requests"):
            done = dialect.execute(
                f"DELETE FROM workers_undorequest WHERE id IN ({_OLD} ORDER BY asked_at LIMIT %s)",
                [than, limit],
            )
        if not done:
            return
        yield done
