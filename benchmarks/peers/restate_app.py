"""The steps as Restate calls them: a workflow of four, each of them durable."""

import restate

from benchmarks.peers.marks import BEGUN, ENDED, mark, ring
from benchmarks.shape import STEPS

order = restate.Workflow("Order")


@order.main()
async def run(context: restate.WorkflowContext, number: int) -> None:
    for place in range(STEPS):
        await context.run_typed(f"step{place}", _first if place == 0 else _step, number=number)
    # Not repeated: nothing fails here.
    mark(ENDED, number)
    ring(number)


def _first(number: int) -> None:
    mark(BEGUN, number)


def _step(number: int) -> None:
    return None


app = restate.app(services=[order])
