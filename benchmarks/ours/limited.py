"""How near two workers come to an agent's rate, and what the death of one of them costs."""

import os
import signal
import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks import processes
from benchmarks.exceptions import Wrong
from benchmarks.ours import running
from workers.models import Flow, Journal
from workers.ops.invariants import violations

WORKFLOW, AGENT = "bench_single", "bench.first"
WORKERS = ("agents_1", "agents_2")
#: The windows over which calls are counted.
LONG_SECONDS, SHORT_SECONDS = 10.0, 1.0


def rated(folder: Path, rate: str, seconds: str, is_killed: str) -> dict[str, Any]:
    """Have more orders wait than may be called in so many seconds; kill one worker half-way."""
    running.prepare()
    running.fill(WORKFLOW, round(1.2 * float(rate) * float(seconds)))
    running.analyze()
    Flow.objects.update_or_create(agent=AGENT, defaults={"rate_per_second": float(rate)})
    begun = Journal.objects.filter(event="claimed")
    with processes.fleet(folder, {}) as fleet:
        running.start_scheduler(fleet)
        for name in WORKERS:
            running.start_agents(fleet, name)
        running.wait_until(begun.exists, "a call has begun")
        time.sleep(float(seconds) / 2)
        if is_killed == "yes":
            # All of its processes at once, as a machine that dies.
            os.killpg(fleet.running[WORKERS[1]].pid, signal.SIGKILL)
        time.sleep(float(seconds) / 2)
        times = [at.timestamp() for at in begun.order_by("at").values_list("at", flat=True)]
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
    connection.close()
    return figures_of(times, float(rate), float(seconds))


def figures_of(times: Sequence[float], rate: float, seconds: float) -> dict[str, Any]:
    """Return the share of the rate in all, in the worst 10 s and in the busiest second.

    ``behind_s`` is for how long the rate would make the calls that are missing.
    """
    calls = sorted(at for at in times if at <= times[0] + seconds)
    return {
        "calls": len(calls),
        "share": len(calls) / (rate * seconds),
        "worst_share": min(
            (bisect_right(calls, at + LONG_SECONDS) - bisect_right(calls, at))
            / (rate * LONG_SECONDS)
            for at in calls
            if at <= times[0] + seconds - LONG_SECONDS
        ),
        "most_share": max(
            (bisect_left(calls, at + SHORT_SECONDS) - bisect_left(calls, at))
            / (rate * SHORT_SECONDS)
            for at in calls
        ),
        "behind_s": max(0.0, seconds - len(calls) / rate),
    }
