"""What is called again, and what ends in error, after the database was away during calls."""

import time
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks import processes
from benchmarks.exceptions import Wrong
from benchmarks.ours import running
from benchmarks.ours.pacing import away
from benchmarks.regimes import service
from tests.chaos.proxy import Mode
from workers.client.submission import submit
from workers.models import Process, Step
from workers.ops.invariants import violations

#: Workflow -> how many calls of it go on when the database goes.
CALLS = {"bench_long": 10, "bench_unsafe": 5}


def outage(folder: Path, seconds: str) -> dict[str, Any]:
    """Take the database away for so long once all calls have begun; wait for the ends."""
    running.prepare()
    wanted = sum(CALLS.values())
    at_work = Step.objects.filter(state="processing", started_at__isnull=False)
    with service.beside(folder), away(0) as proxy, processes.fleet(folder, {}) as fleet:
        running.start(fleet)
        for workflow, calls in CALLS.items():
            for number in range(calls):
                submit(workflow, subject=str(number), input={})
        running.wait_until(lambda: at_work.count() == wanted, "all calls go on", every=0.02)
        proxy.set(Mode.REFUSE)
        time.sleep(float(seconds))
        proxy.set(Mode.PASS)
        back = time.time()
        running.wait_until(lambda: _over() == wanted, "all orders have ended or failed")
        took = time.time() - back
        calls = int(service.counts()["calls"])
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
    in_error = Process.objects.filter(state="error").count()
    connection.close()
    return {"calls": wanted, "again": calls - wanted, "in_error": in_error, "drained_s": took}


def _over() -> int:
    return running.processed() + Process.objects.filter(state="error").count()
