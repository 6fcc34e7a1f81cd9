"""`python -m benchmarks.peers.pgqueuer_jobs filled 300`: PgQueuer, four jobs each of which
enqueues the next.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import child
from benchmarks.exceptions import Unavailable
from benchmarks.peers import tables
from benchmarks.peers.marked import Marked
from benchmarks.peers.marks import BEGUN, ENDED, mark, ring
from benchmarks.processes import Fleet
from benchmarks.regimes import runs
from benchmarks.shape import PROCESSES, STEPS
from benchmarks.system import filled_one_by_one

MODULE = "benchmarks.peers.pgqueuer_jobs"
BATCH = 50
READY = "benchmark: worker ready"


async def _connected() -> Any:
    try:
        from pgqueuer.db import PsycopgDriver
    except ImportError:
        raise Unavailable("pgqueuer is not installed: `make bench` does that") from None
    return PsycopgDriver(await psycopg.AsyncConnection.connect(tables.url(), autocommit=True))


def worker(folder: Path) -> None:
    import uvloop

    uvloop.run(_work())


async def _work() -> None:
    from pgqueuer import PgQueuer
    from pgqueuer.queries import Queries

    app = PgQueuer(await _connected())
    queries = Queries(await _connected())

    def register(place: int) -> None:
        @app.entrypoint(f"step{place}")
        async def step(job: Any) -> None:
            number = int(job.payload)
            if place == 0:
                mark(BEGUN, number)
            if place < STEPS - 1:
                await queries.enqueue(f"step{place + 1}", job.payload)
            else:
                mark(ENDED, number)
                ring(number)

    for place in range(STEPS):
        register(place)
    print(READY, flush=True)
    await app.run(batch_size=BATCH)


class PgQueuerJobs(Marked):
    def prepare(self) -> None:
        asyncio.run(_install())

    def start(self, fleet: Fleet) -> None:
        for place in range(PROCESSES):
            fleet.start(f"worker{place}", "-m", MODULE, "worker")
        for place in range(PROCESSES):
            fleet.wait_for(f"worker{place}", READY)

    def fill(self, orders: int) -> None:
        filled_one_by_one(self, orders)
        tables.connection().execute("ANALYZE")

    def submitter(self) -> Callable[[int], object]:
        from pgqueuer.queries import Queries

        loop = asyncio.new_event_loop()
        queries = Queries(loop.run_until_complete(_connected()))
        return lambda number: loop.run_until_complete(
            queries.enqueue("step0", str(number).encode())
        )


async def _install() -> None:
    from pgqueuer.queries import Queries

    await Queries(await _connected()).install()


child.ensure_folder()
SYSTEM = PgQueuerJobs()

if __name__ == "__main__":
    runs.serve(SYSTEM, MODULE, worker=worker)
