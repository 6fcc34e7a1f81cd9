"""A raw Celery chain: as fast as Celery is, and nothing is kept.

Acknowledged early and without results or publisher confirms, as Celery comes.
"""

import os

from celery import Celery, chain, chord, group

from benchmarks.peers.marks import BEGUN, ENDED, mark, ring
from benchmarks.peers.work import work
from benchmarks.shape import LIMIT_SECONDS

app = Celery("chain", broker=os.environ["BROKER_URL"])
app.conf.update(
    task_ignore_result=True,
    task_default_queue="chain",
    broker_connection_retry_on_startup=True,
    # What a chord needs; tasks of a chain ignore theirs.
    result_backend=os.environ["BROKER_URL"] if "redis" in os.environ["BROKER_URL"] else None,
)


@app.task(name="chain.first")
def first(order: int) -> None:
    mark(BEGUN, order)
    work()


@app.task(name="chain.step")
def step(order: int) -> None:
    work()


@app.task(name="chain.last")
def last(order: int) -> None:
    work()
    mark(ENDED, order)
    ring(order)


def submit(order: int) -> None:
    chain(first.si(order), step.si(order), step.si(order), last.si(order)).apply_async()


@app.task(name="chain.item", ignore_result=False)
def item(number: int) -> int:
    work()
    return number


@app.task(name="chain.count", ignore_result=False)
def count(numbers: list[int]) -> int:
    return len(numbers)


def submit_list(size: int) -> int:
    """Have so many tasks run and be counted by a last one; return what it says."""
    whole = chord(group(item.s(number) for number in range(size)), count.s())
    return int(whole.apply_async().get(timeout=LIMIT_SECONDS))
