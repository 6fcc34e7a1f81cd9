"""`python -m benchmarks.peers.procrastinate_jobs throughput 300`: Procrastinate, four jobs each
of which defers the next.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import child, processes
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.shape import LIMIT_SECONDS, PROCESSES, STEPS, THREADS

MODULE = "benchmarks.peers.procrastinate_jobs"


def _url() -> str:
    if not os.environ["DATABASE_URL"].startswith("postgres"):
        raise Unavailable("Procrastinate is measured on PostgreSQL")
    return os.environ["DATABASE_URL"].replace("postgres://", "postgresql://")


def _app() -> tuple[Any, Any]:
    """Return the app, and the first of its four tasks."""
    try:
        import procrastinate
    except ImportError:
        raise Unavailable("procrastinate is not installed: `make bench` does that") from None
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=_url()))

    @app.task(queue="orders", name="step4")
    async def step4(order: int) -> None:
        return None

    @app.task(queue="orders", name="step3")
    async def step3(order: int) -> None:
        await step4.defer_async(order=order)

    @app.task(queue="orders", name="step2")
    async def step2(order: int) -> None:
        await step3.defer_async(order=order)

    @app.task(queue="orders", name="step1")
    async def step1(order: int) -> None:
        await step2.defer_async(order=order)

    return app, step1


def worker(folder: Path) -> None:
    app, _ = _app()

    async def run() -> None:
        async with app.open_async():
            await app.run_worker_async(queues=["orders"], concurrency=THREADS)

    asyncio.run(run())


def throughput(folder: Path, orders: str) -> dict[str, Any]:
    """Defer first jobs, start the processes, wait until every last job has succeeded."""
    app, first = _app()
    wanted = int(orders)

    async def fill() -> float:
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            began = time.perf_counter()
            for number in range(wanted):
                await first.defer_async(order=number)
            return wanted / (time.perf_counter() - began)

    submitted = asyncio.run(fill())
    with psycopg.connect(_url(), autocommit=True) as database:
        database.execute("ANALYZE")
        with processes.fleet(folder, {}) as fleet:
            for place in range(PROCESSES):
                fleet.start(f"worker{place}", "-m", MODULE, "worker")
            end = time.monotonic() + LIMIT_SECONDS
            while _succeeded(database, "step4") < wanted:
                if time.monotonic() > end:
                    raise Wrong(f"{_succeeded(database, 'step4')} of {wanted} orders are done")
                time.sleep(0.5)
            memory = fleet.memory_mb()
        done = [_succeeded(database, f"step{step + 1}") for step in range(STEPS)]
        seconds = database.execute(
            "SELECT extract(epoch FROM max(at) FILTER (WHERE type = 'succeeded')"
            " - min(at) FILTER (WHERE type = 'started')) FROM procrastinate_events"
        ).fetchone()[0]
    if done != [wanted] * STEPS:
        raise Wrong(f"{done} jobs of {wanted} orders have succeeded")
    return {
        "per_second": wanted / float(seconds),
        "orders": wanted,
        "seconds": float(seconds),
        "submitted_per_second": submitted,
        "memory_mb": memory,
    }


def _succeeded(database: psycopg.Connection, task: str) -> int:
    return database.execute(
        "SELECT count(*) FROM procrastinate_jobs WHERE task_name = %s AND status = 'succeeded'",
        [task],
    ).fetchone()[0]


if __name__ == "__main__":
    child.ensure_folder()
    child.serve({"throughput": throughput, "worker": worker}, sys.argv[1:])
