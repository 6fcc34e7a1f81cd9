"""`python -m benchmarks.peers.absurd_tasks filled 300`: Absurd, a task of four durable steps."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import child
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.peers import tables
from benchmarks.peers.marked import Marked
from benchmarks.peers.marks import BEGUN, ENDED, mark, ring
from benchmarks.processes import Fleet
from benchmarks.regimes import runs
from benchmarks.shape import PROCESSES, STEPS, THREADS
from benchmarks.system import filled_one_by_one

MODULE = "benchmarks.peers.absurd_tasks"
POLL_SECONDS = 0.05
READY = "benchmark: worker ready"


def _app() -> Any:
    try:
        from absurd_sdk import Absurd
    except ImportError:
        raise Unavailable("absurd-sdk is not installed: `make bench` does that") from None
    return Absurd(tables.url(), queue_name="orders")


def worker(folder: Path) -> None:
    app = _app()

    @app.register_task("order")
    def order(number: int, context: Any) -> None:
        mark(BEGUN, number)
        for place in range(STEPS):
            context.step(f"step{place}", _step)
        mark(ENDED, number)
        ring(number)

    print(READY, flush=True)
    app.start_worker(concurrency=THREADS, poll_interval=POLL_SECONDS)


def _step() -> None:
    return None


class AbsurdTasks(Marked):
    def prepare(self) -> None:
        program = Path(sys.executable).with_name("absurdctl")
        if not program.exists() or shutil.which("psql") is None:
            raise Unavailable("absurdctl or psql is missing: `make bench` installs the first")
        environment = {**os.environ, "ABSURD_DATABASE_URL": tables.url()}
        done = subprocess.run(
            [program, "init"], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Unavailable(f"absurdctl made no tables: {done.stderr.strip()[-200:]}")
        _app().create_queue()

    def start(self, fleet: Fleet) -> None:
        for place in range(PROCESSES):
            fleet.start(f"worker{place}", "-m", MODULE, "worker")
        for place in range(PROCESSES):
            fleet.wait_for(f"worker{place}", READY)

    def fill(self, orders: int) -> None:
        filled_one_by_one(self, orders)
        tables.connection().execute("ANALYZE")

    def submitter(self) -> Callable[[int], object]:
        thread = threading.local()

        def submit(number: int) -> None:
            # A connection serves one thread at a time.
            if not hasattr(thread, "app"):
                thread.app = _app()
            thread.app.spawn("order", number, queue="orders")

        return submit

    def check(self, orders: int) -> None:
        super().check(orders)
        steps = tables.connection().execute("SELECT count(*) FROM absurd.c_orders").fetchone()[0]
        if steps != STEPS * orders:
            raise Wrong(f"{steps} steps of {orders} orders are there")


child.ensure_folder()
SYSTEM = AbsurdTasks()

if __name__ == "__main__":
    runs.serve(SYSTEM, MODULE, worker=worker)
