"""Ours: run in a process of its own, with the database and broker in the environment.

    python -m benchmarks.ours throughput 2000
    python -m benchmarks.ours latency 100

The last line is one JSON object.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")
os.environ.setdefault("SAS_LOG_LEVEL", "WARNING")

from benchmarks import processes

LIMIT_SECONDS = 300


def main(words: list[str]) -> None:
    import django

    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        os.environ["SAS_RUN_DIR"] = name
        django.setup()
        print(json.dumps(CASES[words[0]](Path(name), int(words[1]), *words[2:])))


def throughput(folder: Path, orders: int, workflow: str = "bench_line") -> dict[str, Any]:
    """Drain a queue of orders that was filled before the workers began."""
    from django.db import connection
    from django.db.models import Max, Min

    from workers.models import Process

    _prepare()
    began = time.perf_counter()
    _submit(workflow, orders)
    submitted = orders / (time.perf_counter() - began)
    with processes.fleet(folder, {}) as fleet:
        before = processes.servers_cpu()
        _start(fleet)
        _wait_for(orders)
        cost = {**fleet.cpu_seconds()}
        cost |= {name: end - before[name] for name, end in processes.servers_cpu().items()}
        memory = {role: processes.memory_of(process.pid) for role, process in fleet.running.items()}
    span = Process.objects.aggregate(begin=Min("started_at"), end=Max("finished_at"))
    seconds = (span["end"] - span["begin"]).total_seconds()
    _check(orders)
    connection.close()
    return {
        "per_second": orders / seconds,
        "seconds": seconds,
        "submitted_per_second": submitted,
        "cpu_ms_per_order": {role: 1000 * one / orders for role, one in cost.items()},
        "memory_mb": {role: one / 1e6 for role, one in memory.items()},
    }


def latency(folder: Path, orders: int, workflow: str = "bench_line") -> dict[str, Any]:
    """Submit one order at a time to idle workers, and wait for its end."""
    from workers.models import Process
    from workers.submission import submit

    _prepare()
    found = []
    with processes.fleet(folder, {}) as fleet:
        _start(fleet)
        _submit(workflow, 1)
        _wait_for(1)
        for number in range(orders + 10):
            process = submit(workflow, subject=f"one {number}", input={})
            _wait_for(number + 2, every=0.002)
            process.refresh_from_db()
            found.append((process.finished_at - process.created_at).total_seconds() * 1000)
            time.sleep(0.01)
    _check(orders + 11)
    Process.objects.count()
    found = sorted(found[10:])
    return {
        "p50_ms": statistics.median(found),
        "p95_ms": found[int(0.95 * (len(found) - 1))],
        "p99_ms": found[int(0.99 * (len(found) - 1))],
    }


def _prepare() -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def _submit(workflow: str, orders: int) -> None:
    from workers import dispatch
    from workers.rows import NewProcess
    from workers.submission import submit_many

    # Nobody is there to be nudged.
    dispatch.nudge_later = lambda: None
    for begin in range(0, orders, 200):
        submit_many(
            workflow, [NewProcess(f"order {n}", {}) for n in range(begin, min(begin + 200, orders))]
        )


def _start(fleet: processes.Fleet) -> None:
    celery = ("-m", "celery", "-A", "sasproject")
    worker = (*celery, "worker", "-l", "WARNING", "--without-gossip", "--without-mingle")
    own = "sas.scheduler,sas.replies,sas.supervisor,sas.reports"
    fleet.start("scheduler", *worker, "-n", "s@%h", "-c", "1", "-Q", own)
    fleet.start("agents", *worker, "-n", "a@%h", "-c", "2", "-Q", "sas.agents")
    fleet.start("beat", *celery, "beat", "-l", "WARNING", "--pidfile=", "--schedule", "")


def _wait_for(orders: int, every: float = 0.2) -> None:
    from workers.models import Process

    end = time.monotonic() + LIMIT_SECONDS
    while Process.objects.filter(state="processed").count() < orders:
        if time.monotonic() > end:
            raise SystemExit(f"not {orders} orders in {LIMIT_SECONDS} s")
        time.sleep(every)


def _check(orders: int) -> None:
    """Nothing measured counts unless everything was done, and done right."""
    from workers.invariants import violations
    from workers.models import Journal, Process

    assert Process.objects.filter(state="processed").count() == orders
    assert Journal.objects.filter(event="processed", step__isnull=True).count() == orders
    broken = violations()
    assert not broken, broken[:5]


CASES = {"throughput": throughput, "latency": latency}

if __name__ == "__main__":
    main(sys.argv[1:])
