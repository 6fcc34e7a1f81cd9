"""A Django process that fills the store with open orders, has some expire, and sweeps once.

`python -m tests.chaos.scenarios.large_store OPEN EXPIRED` prints what the sweep took as JSON.
"""

import json
import sys
import uuid
from collections.abc import Iterator
from datetime import timedelta
from time import perf_counter
from typing import Any

import django

BATCH = 2000


def main(open_ones: int, expired: int) -> None:
    django.setup()
    from django.db import connection
    from django.utils import timezone

    from orders.submission import Customer, Line, place_order
    from workers import supervisor
    from workers.models import Process, Step

    customer = Customer("Ann", "ann@example.org", "1 Mill Lane")
    order, _ = place_order(
        customer, [Line("SKU-001", 1)], submission_key=uuid.uuid4().hex, source="demo"
    )
    now = timezone.now()

    def processes() -> Iterator[Process]:
        model = _columns(order.process) | {"state": "processing", "sequence": 0}
        for _ in range(open_ones):
            yield Process(**model)

    made = Process.objects.bulk_create(list(processes()), batch_size=BATCH)

    def steps() -> Iterator[Step]:
        model = _columns(Step.objects.filter(process=order.process).order_by("position").first())
        model |= {"state": "processing", "attempt": 1, "locked_by": "a filler"}
        for place, process in enumerate(made):
            by = now + timedelta(hours=-1 if place < expired else 1)
            yield Step(**model | {
                "process_id": process.pk,
                "idempotency_key": f"{process.uid.hex}:0:1",
                "claim_id": uuid.uuid4(),
                "started_at": by - timedelta(seconds=30),
                "complete_by": by,
            })  # fmt: skip

    Step.objects.bulk_create(list(steps()), batch_size=BATCH)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    began = perf_counter()
    swept = supervisor.sweep()
    seconds = perf_counter() - began
    print(json.dumps({"seconds": seconds, "reset": swept.reset, "errors": swept.errors}))


def _columns(row: Any) -> dict[str, Any]:
    """Return what a copy of a row has in common with it."""
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.unique
    }


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
