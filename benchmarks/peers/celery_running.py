"""What the Celery peers share: their workers, and how their runs are counted.

``BENCH_POOL`` says what two processes have: ``prefork`` (one message ahead of each), ``solo``
(64 ahead, no parent process between), or ``threads``.  Beside slow services nothing is taken
ahead that another process has room for.
"""

import os

from benchmarks import processes, ready
from benchmarks.peers.marked import Marked
from benchmarks.shape import CHILDREN, FORKS, PROCESSES, THREADS
from benchmarks.system import filled_one_by_one

#: Pool -> how many workers, the concurrency of each, messages ahead for each unit of that.
POOLS = {
    "prefork": (1, FORKS, 1),
    "solo": (PROCESSES, 1, 64),
    "threads": (PROCESSES, THREADS, 1 if CHILDREN in os.environ else 4),
}


class CelerySystem(Marked):
    def __init__(self, app: str) -> None:
        self._app = app

    def start(self, fleet: processes.Fleet) -> None:
        pool = os.environ.get("BENCH_POOL", "prefork")
        workers, concurrency, ahead = POOLS[pool]
        for place in range(workers):
            fleet.start(
                f"worker{place}",
                *("-m", "celery", "-A", self._app, "worker", "-l", "WARNING"),
                *("-n", f"w{place}@%h", "-P", pool, "-c", str(concurrency)),
                *("--prefetch-multiplier", str(ahead), "--include", "benchmarks.ready"),
                *("--without-gossip", "--without-mingle"),
            )
        for place in range(workers):
            fleet.wait_for(f"worker{place}", ready.LINE)

    def fill(self, orders: int) -> None:
        filled_one_by_one(self, orders)
