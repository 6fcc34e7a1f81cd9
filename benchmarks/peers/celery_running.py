"""What the two Celery peers share: their workers, and how their runs are counted."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import figures, processes, ready
from benchmarks.exceptions import Wrong
from benchmarks.peers import marks
from benchmarks.shape import LIMIT_SECONDS, PREFETCH, PROCESSES, THREADS

#: Orders that are not counted: connections are made, caches filled.
WARMING = 10
PAUSE_SECONDS = 0.02


def start(fleet: processes.Fleet, app: str, *, is_threaded: bool = False) -> None:
    """Start the processes that run steps: a pool of them, or one each with threads."""
    pools = [("threads", THREADS)] * PROCESSES if is_threaded else [("prefork", PROCESSES)]
    for place, (pool, concurrency) in enumerate(pools):
        fleet.start(
            f"worker{place}",
            *("-m", "celery", "-A", app, "worker", "-l", "WARNING", "-n", f"w{place}@%h"),
            *("-P", pool, "-c", str(concurrency), "--prefetch-multiplier", str(PREFETCH)),
            *("--include", "benchmarks.ready", "--without-gossip", "--without-mingle"),
        )
    for place in range(len(pools)):
        fleet.wait_for(f"worker{place}", ready.LINE)


def throughput(
    folder: Path, app: str, orders: int, submit: Callable[[int], None], *, is_threaded: bool = False
) -> dict[str, Any]:
    """Fill the queue, start the workers, wait for the last mark."""
    began = time.perf_counter()
    for number in range(orders):
        submit(number)
    submitted = orders / (time.perf_counter() - began)
    with processes.fleet(folder, {}) as fleet:
        start(fleet, app, is_threaded=is_threaded)
        end = time.monotonic() + LIMIT_SECONDS
        while marks.ended(folder) < orders:
            if time.monotonic() > end:
                raise Wrong(f"{marks.ended(folder)} of {orders} orders after {LIMIT_SECONDS} s")
            time.sleep(0.2)
        memory = fleet.memory_mb()
    seconds = marks.span(folder, orders)
    return {
        "per_second": orders / seconds,
        "orders": orders,
        "seconds": seconds,
        "submitted_per_second": submitted,
        "memory_mb": memory,
    }


def latency(folder: Path, app: str, orders: int, submit: Callable[[int], None]) -> dict[str, float]:
    """Submit one order at a time to idle workers; count until its last step rings."""
    bell, found = marks.Bell(folder), []
    with processes.fleet(folder, {}) as fleet:
        start(fleet, app)
        for number in range(orders + WARMING):
            began = time.perf_counter()
            submit(number)
            bell.wait(number)
            found.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE_SECONDS)
    bell.close()
    marks.span(folder, orders + WARMING)
    return figures.spread(found[WARMING:])
