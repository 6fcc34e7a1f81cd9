"""What the steps of a quick agent wait while another agent's service takes all the room."""

import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection
from django.utils import timezone

from benchmarks import figures, processes
from benchmarks.exceptions import Wrong
from benchmarks.ours import running
from benchmarks.ours.again import again
from benchmarks.regimes import service
from benchmarks.regimes.client import STEADY_THREADS, Submitting, arrivals
from benchmarks.regimes.loaded import Looks
from workers.client.submission import submit
from workers.models import Process, Step
from workers.ops.invariants import violations

QUICK = "bench_line"
#: Quick orders a second.
PER_SECOND = 5
#: Time for the slow ones to take all the room.
AHEAD_SECONDS = 5
#: Time after the last quick order to wait for the ends.
PATIENCE_SECONDS = 60


def beside(folder: Path, seconds: str, slow: str, slow_per_second: str) -> dict[str, Any]:
    """Have quick orders come, and so many of the workflow ``slow`` a second beside them."""
    running.prepare()
    with service.beside(folder), processes.fleet(folder, {}) as fleet:
        running.start(fleet)
        whole = float(seconds) + AHEAD_SECONDS
        others = threading.Thread(target=_submit, args=(slow, float(slow_per_second), whole, 0.0))
        with Looks() as looks:
            others.start()
            _submit(QUICK, PER_SECOND, float(seconds), AHEAD_SECONDS)
            taken = time.time()
            others.join()
            ended = _wait()
    waits = [1000 * wait for wait in _waits(timezone.now())]
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
    calls_at_once = looks.at_once(taken)
    _refuse_idle_service(float(slow_per_second), calls_at_once)
    made_again = again()
    connection.close()
    return {
        "orders": round(PER_SECOND * float(seconds)),
        "ended": ended,
        "p50_ms": figures.percentile(waits, 50),
        "p95_ms": figures.percentile(waits, 95),
        "calls_at_once": calls_at_once,
        **made_again,
    }


def _submit(workflow: str, per_second: float, seconds: float, later: float) -> None:
    orders = round(per_second * seconds)
    if not orders:
        return
    submitting = Submitting(lambda number: submit(workflow, subject=str(number), input={}))
    plan = enumerate(at + later for at in arrivals(orders, per_second))
    submitting.by_threads(iter(list(plan)), STEADY_THREADS)


def _refuse_idle_service(slow_per_second: float, calls_at_once: float) -> None:
    """Raise ``Wrong`` if slow orders came and none of their calls went on: nothing was beside."""
    if slow_per_second and not calls_at_once:
        raise Wrong("no call of the slow agent went on beside the quick ones")


def _wait() -> int:
    """Wait until the quick orders have ended, but not for ever; return how many have."""
    quick = Process.objects.filter(workflow=QUICK)
    end = time.monotonic() + PATIENCE_SECONDS
    while quick.filter(finished_at=None).exists() and time.monotonic() < end:
        time.sleep(0.2)
    return quick.exclude(finished_at=None).count()


def _waits(now: datetime) -> Iterator[float]:
    """Yield how long each quick step took from when it was ready; so far, of one still at it."""
    steps = Step.objects.filter(process__workflow=QUICK).order_by("process_id", "position")
    ready: dict[int, datetime | None] = {}
    for step in steps.select_related("process"):
        began = ready.get(step.process_id, step.process.created_at)
        if began is not None:
            yield ((step.finished_at or now) - began).total_seconds()
        ready[step.process_id] = step.finished_at
