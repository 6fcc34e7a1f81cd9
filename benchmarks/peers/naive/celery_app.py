"""Four tasks, each of which locks the order's row, changes it and saves it.

Celery's Django fix-up closes the database connection around every task.  ``BENCH_KEEP`` says
whether this project knows that and has it kept.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.peers.naive.settings")

import django
from celery import Celery, chain

from benchmarks.peers.marks import BEGUN, ENDED, mark, ring

app = Celery("naive", broker=os.environ["BROKER_URL"])
app.conf.update(
    task_ignore_result=True,
    task_default_queue="naive",
    broker_connection_retry_on_startup=True,
)
if os.environ.get("BENCH_KEEP") == "1":
    app.conf["CELERY_DB_REUSE_MAX"] = 1_000_000
django.setup()


def _advance(order: int, step: int, status: str) -> None:
    from django.db import transaction

    from benchmarks.peers.naive.models import Order

    with transaction.atomic():
        row = Order.objects.select_for_update().get(number=order)
        row.step, row.status = step, status
        row.save()


@app.task(name="naive.reserve")
def reserve(order: int) -> None:
    mark(BEGUN, order)
    _advance(order, 1, "reserved")


@app.task(name="naive.charge")
def charge(order: int) -> None:
    _advance(order, 2, "charged")


@app.task(name="naive.ship")
def ship(order: int) -> None:
    _advance(order, 3, "shipped")


@app.task(name="naive.finish")
def finish(order: int) -> None:
    _advance(order, 4, "completed")
    mark(ENDED, order)
    ring(order)


def submit(order: int) -> None:
    from benchmarks.peers.naive.models import Order

    Order.objects.create(number=order, payload={"sku": "SKU-001", "quantity": 1})
    chain(reserve.si(order), charge.si(order), ship.si(order), finish.si(order)).apply_async()
