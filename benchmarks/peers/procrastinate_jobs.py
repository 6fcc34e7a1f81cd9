"""`python -m benchmarks.peers.procrastinate_jobs filled 300`: Procrastinate, four jobs each of
which defers the next.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import child
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.peers import tables
from benchmarks.peers.work import work_async
from benchmarks.processes import Fleet
from benchmarks.regimes import runs
from benchmarks.shape import PROCESSES, STEPS, THREADS
from benchmarks.system import Progress, System

MODULE = "benchmarks.peers.procrastinate_jobs"


def _app(connector: str = "PsycopgConnector") -> tuple[Any, Any]:
    """Return the app, and the first of its four tasks."""
    try:
        import procrastinate
    except ImportError:
        raise Unavailable("procrastinate is not installed: `make bench` does that") from None
    app = procrastinate.App(connector=getattr(procrastinate, connector)(conninfo=tables.url()))

    @app.task(queue="orders", name="step4")
    async def step4(order: int) -> None:
        await work_async()

    @app.task(queue="orders", name="step3")
    async def step3(order: int) -> None:
        await work_async()
        await step4.defer_async(order=order)

    @app.task(queue="orders", name="step2")
    async def step2(order: int) -> None:
        await work_async()
        await step3.defer_async(order=order)

    @app.task(queue="orders", name="step1")
    async def step1(order: int) -> None:
        await work_async()
        await step2.defer_async(order=order)

    return app, step1


def worker(folder: Path) -> None:
    app, _ = _app()

    async def run() -> None:
        async with app.open_async():
            await app.run_worker_async(queues=["orders"], concurrency=THREADS)

    asyncio.run(run())


class Procrastinate(System):
    def prepare(self) -> None:
        app, _ = _app("SyncPsycopgConnector")
        with app.open():
            app.schema_manager.apply_schema()

    def start(self, fleet: Fleet) -> None:
        for place in range(PROCESSES):
            fleet.start(f"worker{place}", "-m", MODULE, "worker")

    def fill(self, orders: int) -> None:
        submit = self.submitter()
        for number in range(orders):
            submit(number)
        tables.connection().execute("ANALYZE")

    def submitter(self) -> Callable[[int], object]:
        app, first = _app("SyncPsycopgConnector")
        app.open()
        return lambda number: first.defer(order=number)

    def progress(self) -> Progress:
        return tables.progress(
            "SELECT count(*) FILTER (WHERE task_name = 'step4' AND type = 'succeeded'),"
            " extract(epoch FROM min(at) FILTER (WHERE type = 'started')),"
            " extract(epoch FROM max(at) FILTER (WHERE type = 'succeeded'))"
            " FROM procrastinate_events JOIN procrastinate_jobs ON job_id = procrastinate_jobs.id"
        )

    def ends(self) -> Iterator[int]:
        return tables.ends(
            "procrastinate_jobs", "NEW.args->>'order'",
            "NEW.task_name = 'step4' AND NEW.status = 'succeeded'",
        )  # fmt: skip

    def check(self, orders: int) -> None:
        done = dict(
            tables.connection().execute(
                "SELECT task_name, count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"
                " GROUP BY 1"
            )
        )
        if done != {f"step{step + 1}": orders for step in range(STEPS)}:
            raise Wrong(f"{done} jobs of {orders} orders have succeeded")


child.ensure_folder()
SYSTEM = Procrastinate()

if __name__ == "__main__":
    runs.serve(SYSTEM, MODULE, worker=worker)
