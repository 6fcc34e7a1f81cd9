"""A step that is a list of children which do nothing."""

from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks import processes
from benchmarks.exceptions import Wrong
from benchmarks.ours import running
from benchmarks.processes import Fleet
from benchmarks.regimes.costs import Meter
from workers.client.submission import submit
from workers.models import Process
from workers.ops.invariants import violations

#: What the rows of the parent hold, its step included.
_BYTES = """
SELECT (SELECT sum(pg_column_size(p.*)) FROM workers_process p WHERE p.id = %s)
 + (SELECT sum(pg_column_size(s.*)) FROM workers_step s WHERE s.process_id = %s)
 + (SELECT sum(pg_column_size(g.*)) FROM workers_childgroup g)
"""


def listed(folder: Path, count: str) -> dict[str, Any]:
    """Have a process with so many children run, a hundred at once; count from begin to end."""
    wanted = int(count)
    running.prepare()
    with processes.fleet(folder, {}) as fleet:
        running.start(fleet)
        meter = Meter(fleet)
        meter.begin()
        parent = submit("bench_list", subject="list", input={"count": wanted})
        at_rest = _scheduler_mb(fleet)
        peak = at_rest

        def has_ended() -> bool:
            nonlocal peak
            peak = max(peak, _scheduler_mb(fleet))
            return Process.objects.filter(pk=parent.pk, finished_at__isnull=False).exists()

        running.wait_until(has_ended, "the list has ended")
        meter.end()
    parent.refresh_from_db()
    _check(wanted)
    with connection.cursor() as cursor:
        cursor.execute(_BYTES, [parent.pk, parent.pk])
        parent_bytes = int(cursor.fetchone()[0])
    connection.close()
    assert parent.started_at is not None
    assert parent.finished_at is not None
    seconds = (parent.finished_at - parent.started_at).total_seconds()
    return {
        "per_second": wanted / seconds,
        "seconds": seconds,
        "parent_bytes": parent_bytes,
        "scheduler_mb": peak - at_rest,
        **meter.costs(wanted).as_found(),
    }


def _scheduler_mb(fleet: Fleet) -> float:
    """Return the memory of the largest Scheduler process."""
    return max(fleet.memory_mb()["scheduler"])


def _check(wanted: int) -> None:
    done = Process.objects.filter(group__isnull=False, state="processed").count()
    if done != wanted:
        raise Wrong(f"{done} of {wanted} children are processed")
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
