"""A raw Celery chain: as fast as Celery is, and nothing is kept.

Acknowledged early and without results or publisher confirms, as Celery comes.
"""

import os

from celery import Celery, chain

from benchmarks.peers.marks import BEGUN, ENDED, mark, ring
from benchmarks.peers.work import work

app = Celery("chain", broker=os.environ["BROKER_URL"])
app.conf.update(
    task_ignore_result=True,
    task_default_queue="chain",
    broker_connection_retry_on_startup=True,
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
