"""`python -m benchmarks.peers.dbos_queue filled 200`: DBOS, its workflows in a queue.

A queue because that is how several processes share the work; polled 20 times a second.
``BENCH_DIRECT=1``: whoever submits an order runs it, in the same process.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import child, processes
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.peers import tables
from benchmarks.peers.work import work
from benchmarks.processes import Fleet
from benchmarks.regimes import runs
from benchmarks.regimes.costs import Meter
from benchmarks.shape import AT_ONCE, PROCESSES, STEPS, THREADS
from benchmarks.system import Progress, System, filled_one_by_one, wait

POLL_SECONDS = 0.05
VERSION = "1"
MODULE = "benchmarks.peers.dbos_queue"
READY = "benchmark: worker ready"
#: With a queue, what is submitted is done by others.
IS_DIRECT = os.environ.get("BENCH_DIRECT") == "1"


def _url() -> str:
    """Return the database's URL as SQLAlchemy names it."""
    return tables.url().replace("postgresql://", "postgresql+psycopg://")


def _launch(executor: str) -> tuple[Any, Any]:
    try:
        from dbos import DBOS
    except ImportError:
        raise Unavailable("dbos is not installed: `make bench` does that") from None

    DBOS(
        config={
            "name": "bench",
            "system_database_url": _url(),
            "log_level": "ERROR",
            "executor_id": executor,
            "application_version": VERSION,
        }
    )

    @DBOS.step()
    def step(order: int) -> None:
        work()

    @DBOS.workflow(name="order")
    def order(number: int) -> None:
        for _ in range(STEPS):
            step(number)

    @DBOS.workflow(name="item")
    def item(number: int) -> int:
        step(number)
        return number

    @DBOS.workflow(name="list")
    def listed(count: int) -> int:
        handles = [DBOS.enqueue_workflow("items", item, number) for number in range(count)]
        return len([handle.get_result() for handle in handles])

    DBOS.launch()
    for name, each, together in (
        ("orders", THREADS, None),
        ("items", AT_ONCE // PROCESSES, AT_ONCE),
    ):
        DBOS.register_queue(
            name,
            worker_concurrency=each,
            global_concurrency=together,
            polling_interval_sec=POLL_SECONDS,
            on_conflict="always_update",
        )
    return DBOS, order


def worker(folder: Path, executor: str) -> None:
    """Run workflows until somebody ends the process."""
    _launch(executor)
    print(READY, flush=True)
    while True:
        time.sleep(60)


def make_tables(folder: Path) -> dict[str, bool]:
    """Have DBOS make its tables, and end."""
    _launch("tables")[0].destroy()
    return {"made": True}


def listed(folder: Path, count: str) -> dict[str, Any]:
    """Have a workflow with so many child workflows end; count from its begin to its end."""
    SYSTEM.prepare()
    with processes.fleet(folder, {}) as fleet:
        SYSTEM.start(fleet)
        meter = Meter(fleet)
        meter.begin()
        _enqueuer("list")(int(count))
        wait(SYSTEM, int(count) + 1)
        meter.end()
    progress = SYSTEM.progress()
    assert progress.first_begin is not None
    assert progress.last_end is not None
    seconds = progress.last_end - progress.first_begin
    found = meter.costs(int(count)).as_found()
    return {"per_second": int(count) / seconds, "seconds": seconds, **found}


def _enqueuer(workflow: str) -> Callable[[int], object]:
    from dbos import DBOSClient

    client = DBOSClient(system_database_url=_url())
    options = {"workflow_name": workflow, "queue_name": "orders", "app_version": VERSION}
    return lambda number: client.enqueue({**options, "workflow_id": str(number)}, number)


class Dbos(System):
    def prepare(self) -> None:
        folder = Path(os.environ["SAS_RUN_DIR"])
        tables.url()
        with processes.fleet(folder, {}) as fleet:
            fleet.start("tables", "-m", MODULE, "make_tables")
            if fleet.running["tables"].wait(60):
                raise Unavailable(f"DBOS made no tables: {fleet.log('tables').strip()[-200:]}")

    def start(self, fleet: Fleet) -> None:
        workers = 0 if IS_DIRECT else PROCESSES
        for place in range(workers):
            fleet.start(f"worker{place}", "-m", MODULE, "worker", f"w{place}")
        for place in range(workers):
            fleet.wait_for(f"worker{place}", READY)

    def fill(self, orders: int) -> None:
        filled_one_by_one(self, orders)
        tables.connection().execute("ANALYZE")

    def submitter(self) -> Callable[[int], object]:
        if IS_DIRECT:
            from dbos import SetWorkflowID

            _, order = _launch("direct")

            def run(number: int) -> None:
                with SetWorkflowID(str(number)):
                    order(number)

            return run
        return _enqueuer("order")

    def progress(self) -> Progress:
        return tables.progress(
            "SELECT count(*), min(started_at_epoch_ms) / 1000.0, max(updated_at) / 1000.0"
            " FROM dbos.workflow_status WHERE status = 'SUCCESS'"
        )

    def ends(self) -> Iterator[int]:
        return tables.ends("dbos.workflow_status", "NEW.workflow_uuid", "NEW.status = 'SUCCESS'")

    def check(self, orders: int) -> None:
        database = tables.connection()
        steps = database.execute("SELECT count(*) FROM dbos.operation_outputs").fetchone()[0]
        done = self.progress().ended
        if (done, steps) != (orders, STEPS * orders):
            raise Wrong(f"{done} workflows and {steps} steps of {orders} orders are there")


child.ensure_folder()
SYSTEM = Dbos()

if __name__ == "__main__":
    runs.serve(SYSTEM, MODULE, worker=worker, make_tables=make_tables, listed=listed)
