"""Throughput with many more open orders in the tables than are worked on."""

from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Count, Max, Min

from benchmarks import processes
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.ours import copying, running
from benchmarks.shape import STEPS
from workers.models import Journal, Process, Step
from workers.ops.invariants import violations


def growth(folder: Path, orders: str, times: str) -> dict[str, Any]:
    """Have ``orders`` times ``times`` open, and measure until ``orders`` of them have ended.

    The steps that ended are counted, four of them as an order: where more orders are open,
    more are on their way when it stops, and those that ended are only a part of what was done.
    """
    if connection.vendor != "postgresql":
        raise Unavailable("rows are copied on PostgreSQL")
    running.prepare()
    running.fill("bench_line", 1)
    copying.copy(Process.objects.get().pk, int(orders) * int(times) - 1)
    running.analyze()
    with processes.fleet(folder, {}) as fleet:
        running.start(fleet)
        running.wait_for(int(orders))
    span = Process.objects.aggregate(begin=Min("started_at"), done=Count("finished_at"))
    steps = Step.objects.filter(state="processed").aggregate(
        end=Max("finished_at"), done=Count("id")
    )
    told = Journal.objects.filter(event="processed", step__isnull=True).count()
    if told != span["done"]:
        raise Wrong(f"the journal has {told} rows 'processed' of {span['done']} orders")
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
    connection.close()
    return {
        "per_second": steps["done"] / STEPS / (steps["end"] - span["begin"]).total_seconds(),
        "open": int(orders) * int(times),
        "done": span["done"],
    }
