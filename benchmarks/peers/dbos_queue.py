"""`python -m benchmarks.peers.dbos_queue throughput 200`: DBOS, its workflows in a queue.

A queue because that is how several processes share the work; polled 20 times a second.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import child, processes
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.shape import LIMIT_SECONDS, PROCESSES, STEPS, THREADS

POLL_SECONDS = 0.05
VERSION = "1"
MODULE = "benchmarks.peers.dbos_queue"


def _urls() -> tuple[str, str]:
    """Return the database as psycopg and as SQLAlchemy name it."""
    _, _, rest = os.environ["DATABASE_URL"].partition("://")
    if not os.environ["DATABASE_URL"].startswith("postgres"):
        raise Unavailable("DBOS is measured on PostgreSQL")
    return f"postgresql://{rest}", f"postgresql+psycopg://{rest}"


def _launch(executor: str) -> Any:
    try:
        from dbos import DBOS
    except ImportError:
        raise Unavailable("dbos is not installed: `make bench` does that") from None

    DBOS(
        config={
            "name": "bench",
            "system_database_url": _urls()[1],
            "log_level": "ERROR",
            "executor_id": executor,
            "application_version": VERSION,
        }
    )

    @DBOS.step()
    def step(order: int) -> None:
        return None

    @DBOS.workflow(name="order")
    def order(number: int) -> None:
        for _ in range(STEPS):
            step(number)

    DBOS.launch()
    DBOS.register_queue(
        "orders",
        worker_concurrency=THREADS,
        polling_interval_sec=POLL_SECONDS,
        on_conflict="always_update",
    )
    return DBOS


def worker(folder: Path, executor: str) -> None:
    """Run workflows until standard input ends or somebody ends the process."""
    _launch(executor)
    while True:
        time.sleep(60)


def tables(folder: Path) -> dict[str, bool]:
    """Have DBOS make its tables, and end."""
    _launch("tables").destroy()
    return {"made": True}


def throughput(folder: Path, orders: str) -> dict[str, Any]:
    """Enqueue workflows, start the processes, wait until all have succeeded."""
    plain, url = _urls()
    try:
        from dbos import DBOSClient
    except ImportError:
        raise Unavailable("dbos is not installed: `make bench` does that") from None
    wanted = int(orders)
    with processes.fleet(folder, {}) as fleet:
        fleet.start("tables", "-m", MODULE, "tables")
        if fleet.running["tables"].wait(60):
            raise Unavailable(f"DBOS made no tables: {fleet.log('tables').strip()[-200:]}")
    client = DBOSClient(system_database_url=url)
    began = time.perf_counter()
    for number in range(wanted):
        options = {"workflow_name": "order", "queue_name": "orders", "app_version": VERSION}
        client.enqueue(options, number)
    submitted = wanted / (time.perf_counter() - began)
    client.destroy()
    with psycopg.connect(plain, autocommit=True) as database:
        database.execute("ANALYZE")
        with processes.fleet(folder, {}) as fleet:
            for place in range(PROCESSES):
                fleet.start(f"worker{place}", "-m", MODULE, "worker", f"w{place}")
            end = time.monotonic() + LIMIT_SECONDS
            while _succeeded(database)[0] < wanted:
                if time.monotonic() > end:
                    raise Wrong(f"{_succeeded(database)[0]} of {wanted} workflows succeeded")
                time.sleep(0.5)
            memory = fleet.memory_mb()
        done, seconds = _succeeded(database)
        steps = database.execute("SELECT count(*) FROM dbos.operation_outputs").fetchone()
    if (done, steps[0]) != (wanted, STEPS * wanted):
        raise Wrong(f"{done} workflows and {steps[0]} steps of {wanted} orders are there")
    return {
        "per_second": wanted / seconds,
        "orders": wanted,
        "seconds": seconds,
        "submitted_per_second": submitted,
        "memory_mb": memory,
    }


def _succeeded(database: psycopg.Connection) -> tuple[int, float]:
    row = database.execute(
        "SELECT count(*), max(updated_at) - min(started_at_epoch_ms) FROM dbos.workflow_status"
        " WHERE status = 'SUCCESS'"
    ).fetchone()
    return row[0], float(row[1] or 0) / 1000


if __name__ == "__main__":
    child.ensure_folder()
    child.serve({"throughput": throughput, "worker": worker, "tables": tables}, sys.argv[1:])
