"""`python -m benchmarks.peers.naive throughput 300`: the hand-written chain, measured.

BENCH_KEEP=1 keeps its database connection between tasks.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import child
from benchmarks.exceptions import Wrong
from benchmarks.peers import celery_running

APP = "benchmarks.peers.naive.celery_app"


def throughput(folder: Path, orders: str) -> dict[str, Any]:
    submit = _prepare()
    found = celery_running.throughput(folder, APP, int(orders), submit)
    _check(int(orders))
    return found


def latency(folder: Path, orders: str) -> dict[str, float]:
    submit = _prepare()
    found = celery_running.latency(folder, APP, int(orders), submit)
    _check(int(orders) + celery_running.WARMING)
    return found


def _prepare() -> Callable[[int], None]:
    from django.db import connection

    from benchmarks.peers.naive.celery_app import submit
    from benchmarks.peers.naive.models import Order

    with connection.schema_editor() as editor:
        editor.create_model(Order)
    return submit


def _check(orders: int) -> None:
    from django.db import connection

    from benchmarks.peers.naive.models import Order

    done = Order.objects.filter(status="completed", step=4).count()
    connection.close()
    if done != orders:
        raise Wrong(f"{done} of {orders} orders are completed")


child.ensure_folder()
child.serve({"throughput": throughput, "latency": latency}, sys.argv[1:])
