"""Throughput with many more open orders in the tables than are worked on."""

from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Count, Max, Min

from benchmarks import processes
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.ours import copying, running
from workers.invariants import violations
from workers.models import Journal, Process


def growth(folder: Path, orders: str, times: str) -> dict[str, Any]:
    """Have ``orders`` times ``times`` open, and measure until ``orders`` of them have ended."""
    if connection.vendor != "postgresql":
        raise Unavailable("rows are copied on PostgreSQL")
    running.prepare()
    running.fill("bench_line", 1)
    copying.copy(Process.objects.get().pk, int(orders) * int(times) - 1)
    running.analyze()
    with processes.fleet(folder, {}) as fleet:
        running.start(fleet)
        running.wait_for(int(orders))
    span = Process.objects.filter(finished_at__isnull=False).aggregate(
        begin=Min("started_at"), end=Max("finished_at"), done=Count("id")
    )
    told = Journal.objects.filter(event="processed", step__isnull=True).count()
    if told != span["done"]:
        raise Wrong(f"the journal has {told} rows 'processed' of {span['done']} orders")
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
    connection.close()
    return {
        "per_second": span["done"] / (span["end"] - span["begin"]).total_seconds(),
        "open": int(orders) * int(times),
        "done": span["done"],
    }
