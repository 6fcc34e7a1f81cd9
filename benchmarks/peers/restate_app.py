"""The steps as Restate calls them: a workflow of four, each of them durable."""

import asyncio

import restate

from benchmarks.peers.marks import BEGUN, ENDED, mark, ring
from benchmarks.peers.work import work_async
from benchmarks.shape import STEPS, THREADS

order = restate.Workflow("Order")
#: Calls of a process that go on at once: the server would have them all begin.
room = asyncio.Semaphore(THREADS)


@order.main()
async def run(context: restate.WorkflowContext, number: int) -> None:
    for place in range(STEPS):
        await context.run_typed(f"step{place}", _first if place == 0 else _step, number=number)
    # Not repeated: nothing fails here.
    mark(ENDED, number)
    ring(number)


async def _first(number: int) -> None:
    mark(BEGUN, number)
    await _step(number)


async def _step(number: int) -> None:
    async with room:
        await work_async()


app = restate.app(services=[order])
