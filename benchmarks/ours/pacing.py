"""Orders that come one by one, from several processes, with the database so far away.

Beside them other processes may use up the machine's CPU.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.db import connection

from benchmarks import processes
from benchmarks.exceptions import Wrong
from benchmarks.ours import running
from benchmarks.ours.again import again
from benchmarks.regimes import service
from benchmarks.regimes.client import FEW, client
from benchmarks.regimes.loaded import pace
from tests.chaos.proxy import Mode, Proxy
from workers.models import Alert, Process, Step
from workers.ops.invariants import violations

#: Time after the last submission to wait for the ends; what has none by then is counted.
PATIENCE_SECONDS = 120


@contextmanager
def away(milliseconds: float) -> Iterator[Proxy]:
    """Have all processes that are started meanwhile reach the database so late."""
    url = os.environ["DATABASE_URL"]
    parts = urlsplit(url)
    assert parts.port is not None
    with Proxy(parts.port) as proxy:
        if milliseconds:
            proxy.set(Mode.DELAY, milliseconds / 2000)
        os.environ["DATABASE_URL"] = parts._replace(
            netloc=parts.netloc.replace(str(parts.port), str(proxy.port))
        ).geturl()
        try:
            yield proxy
        finally:
            os.environ["DATABASE_URL"] = url


def paced(folder: Path, *words: str) -> dict[str, Any]:
    """Have so many processes submit, one order a transaction, and wait for the ends.

    ``words`` are the processes, the orders a second of all of them, the seconds, the milliseconds
    to the database, and the processes that use up the CPU.
    """
    submitters, per_second, seconds, away_ms, busy = map(float, words)
    running.prepare()
    with ExitStack() as stack:
        stack.enter_context(service.beside(folder))
        if away_ms:
            stack.enter_context(away(away_ms))
        fleet = stack.enter_context(processes.fleet(folder, {}))
        running.start(fleet)
        share = per_second / submitters
        each = ("benchmarks.ours.system", "paced", str(round(share * seconds)), str(share))
        clients = []
        for number in range(int(submitters)):
            place = folder / f"client-{number}"
            place.mkdir()
            clients.append(stack.enter_context(client(place, *each, str(number))))
        warm = FEW * len(clients)
        running.wait_for(warm)
        for number in range(int(busy)):
            fleet.start(f"busy-{number}", "-c", "while True: pass")
        with ThreadPoolExecutor(len(clients)) as pool:
            found = list(pool.map(lambda one: one.run(), clients))
        taken = time.time()
        counted = _wait(warm + sum(one["orders"] for one in found), taken)
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
    result = {**_figures(warm, taken, counted), **again()}
    result["called_dead"] = Alert.objects.filter(code="worker_vanished").count()
    connection.close()
    return result


def _wait(orders: int, taken: float) -> float:
    """Wait until all orders have ended, but not for ever; return when that was over."""
    while running.processed() < orders and time.time() < taken + PATIENCE_SECONDS:
        time.sleep(0.2)
    return time.time()


def _figures(warm: int, taken: float, over: float) -> dict[str, Any]:
    """Return how orders ended, and the longest time in which no step did while some were open."""
    rows = list(
        Process.objects.order_by("created_at").values_list("created_at", "finished_at")[warm:]
    )
    due = [came.timestamp() for came, _ in rows]
    ended = [end and end.timestamp() for _, end in rows]
    steps = Step.objects.filter(finished_at__gt=rows[0][0]).order_by("finished_at")
    settled = [at.timestamp() for at in steps.values_list("finished_at", flat=True)]
    marks = [due[0], *settled, *([over] if None in ended else [])]
    return {
        **pace(due, ended, over),
        "ended_in_time": sum(end is not None and end <= taken for end in ended),
        "gap_s": max(later - sooner for sooner, later in pairwise(marks)),
    }


def capacity(folder: Path, orders: str, away_ms: str) -> dict[str, Any]:
    """Return how many orders of a filled queue end a second with the database so far away."""
    wanted = int(orders)
    running.prepare()
    with ExitStack() as stack:
        stack.enter_context(service.beside(folder))
        running.fill(os.environ["BENCH_WORKFLOW"], wanted)
        running.analyze()
        if float(away_ms):
            stack.enter_context(away(float(away_ms)))
        running.start(stack.enter_context(processes.fleet(folder, {})))
        running.wait_for(wanted)
    times = Process.objects.values_list("started_at", "finished_at")
    began, ends = (sorted(column) for column in zip(*times, strict=True))
    connection.close()
    return {"per_second": wanted / (ends[-1] - began[0]).total_seconds()}
