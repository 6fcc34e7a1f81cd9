"""Deleting jobs that ended long ago, their items first."""

from collections.abc import Iterator
from datetime import datetime

from workers.conf import sas
from workers.runtime.failpoints import durable
from workers.store.db import dialect
from workers.store.prune_rows import cutoff

_ENDED = "SELECT id FROM workers_bulkjob WHERE ended_at IS NOT NULL AND ended_at < %s"


def old_jobs(now: datetime | None = None) -> int:
    """Count the jobs that may go."""
    found = dialect.fetch(
        f"SELECT count(*) FROM ({_ENDED}) j", [cutoff(sas.keep_resolved_days, now)]
    )
    return int(found[0][0])


def prune_jobs(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete the items of the oldest job that may go, a portion at a time, and then the job.

    Yields after each transaction how many jobs that one deleted.
    """
    than = cutoff(sas.keep_resolved_days, now)
    while True:
        with durable("prune_jobs.prune_jobs"):
            found = dialect.fetch(f"{_ENDED} ORDER BY ended_at LIMIT 1", [than])
            if not found:
                return
            items = dialect.execute(
                "DELETE FROM workers_bulkitem WHERE id IN"
                " (SELECT id FROM workers_bulkitem WHERE job_id = %s LIMIT %s)",
                [found[0][0], limit],
            )
            done = 0
            if items < limit:
                done = dialect.execute("DELETE FROM workers_bulkjob WHERE id = %s", [found[0][0]])
        yield done
