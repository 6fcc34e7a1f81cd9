"""How many orders a second: a queue is filled, then the workers begin."""

import os
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Max, Min

from benchmarks import processes
from benchmarks.ours import running
from workers.models import Journal, Process


def throughput(folder: Path, orders: str, workflow: str = "bench_line") -> dict[str, Any]:
    """Drain a queue of orders that was filled before the workers began."""
    wanted = int(orders)
    running.prepare()
    submitted = running.fill(workflow, wanted)
    running.analyze()
    with processes.fleet(folder, {}) as fleet:
        running.start(fleet)
        # What starting costs is no cost of an order.
        running.wait_until(_has_begun, "the first claim", every=0.02)
        before = fleet.cpu_seconds() | processes.servers_cpu()
        running.wait_for(wanted)
        after = fleet.cpu_seconds() | processes.servers_cpu()
        memory = fleet.memory_mb()
        logs = "".join(fleet.log(role) for role in fleet.running)
    span = Process.objects.aggregate(begin=Min("started_at"), end=Max("finished_at"))
    seconds = (span["end"] - span["begin"]).total_seconds()
    running.check(wanted, is_journal_whole=os.environ.get("BENCH_WITHOUT") != "journal")
    transitions = Journal.objects.filter(before__isnull=False, after__isnull=False).count()
    connection.close()
    return {
        "per_second": wanted / seconds,
        "orders": wanted,
        "seconds": seconds,
        "submitted_per_second": submitted,
        "transitions_per_second": transitions / seconds,
        "locked_errors": logs.count("database is locked"),
        "cpu_ms_per_order": {
            role: 1000 * (seconds - before[role]) / wanted for role, seconds in after.items()
        },
        "memory_mb": memory,
    }


def _has_begun() -> bool:
    return Process.objects.filter(started_at__isnull=False).exists()
