"""README's `manage.py stack` with services that take seconds, as whoever tries it meets it."""

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import F, Max

from benchmarks import figures, processes
from benchmarks.exceptions import Wrong
from benchmarks.ours import running, web_client
from benchmarks.ours.again import again
from benchmarks.processes import Fleet
from benchmarks.regimes.client import STEADY_THREADS, Submitting, arrivals
from orders.demo_data import seed
from orders.models import Product
from workers.models import Process
from workers.ops.invariants import violations

#: What the services take, and the orders that come in a second.
LATENCY_SECONDS = 3
PER_SECOND = 6
SERVICES = ("payment", "shipping", "courier", "billing")
READY = '{"ready": true'
#: Time after the last submission to wait for the ends; what has none by then is counted.
PATIENCE_SECONDS = 120
#: The stack's own defaults, whatever the measuring process has been given.
ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "sasproject.settings",
    "DJANGO_DEBUG": "off",
    "DJANGO_LOOPBACK_ONLY": "on",
}


def stack(folder: Path, seconds: str) -> dict[str, Any]:
    """Have orders come in for ``seconds``; return when the last ended, and what went on."""
    running.prepare()
    if not Product.objects.exists():
        seed(with_users=False)
    token = web_client.token()
    orders = round(PER_SECOND * float(seconds))
    with processes.fleet(folder, ENVIRONMENT) as fleet:
        web, sandbox = _start(fleet)
        for service in SERVICES:
            _slow_down(sandbox, service)
        due = _submit(web, token, orders)
        ended = _wait(orders)
        waited = time.time() - max(due)
        at_once = figures.at_once(_effects(sandbox), LATENCY_SECONDS)
    found = {**_ends(orders, ended, max(due), waited), "calls_at_once": at_once, **again()}
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
    connection.close()
    return found


def _start(fleet: Fleet) -> tuple[str, str]:
    """Start it on free ports; return where the shop and the services are."""
    fleet.start("stack", "manage.py", "stack", "--web-port", "0", "--sandbox-port", "0")
    fleet.wait_for("stack", READY)
    line = next(line for line in fleet.log("stack").splitlines() if line.startswith(READY))
    told = json.loads(line)
    return told["web"].removeprefix("http://"), told["sandbox"]


def _slow_down(sandbox: str, service: str) -> None:
    body = json.dumps({"latency_seconds": LATENCY_SECONDS}).encode()
    request = urllib.request.Request(f"{sandbox}/{service}/faults", body, method="PUT")
    urllib.request.urlopen(request, timeout=10).close()


def _submit(web: str, token: str, orders: int) -> list[float]:
    """Place all orders when they are due; return when that was."""
    thread = threading.local()

    def order(number: int) -> None:
        if not hasattr(thread, "client"):
            thread.client = web_client.WebClient(web, token)
        thread.client.order()

    submitting = Submitting(order)
    submitting.by_threads(iter(enumerate(arrivals(orders, PER_SECOND))), STEADY_THREADS)
    return list(submitting.due.values())


def _wait(orders: int) -> int:
    """Wait for all ends, but not for ever; return how many there are."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (ended := running.processed()) < orders and time.monotonic() < end:
        time.sleep(0.2)
    return ended


def _ends(orders: int, ended: int, last_due: float, waited: float) -> dict[str, Any]:
    """Return when orders ended; of those that have not, that it was later than ``waited``."""
    rows = Process.objects.filter(finished_at__isnull=False)
    if ended and (other := rows.exclude(state="processed").count()):
        raise Wrong(f"{other} of {ended} orders ended otherwise than processed")
    last = rows.aggregate(last=Max("finished_at"))["last"]
    took = rows.annotate(took=F("finished_at") - F("created_at")).values_list("took", flat=True)
    seconds = [one.total_seconds() for one in took] + [float("inf")] * (orders - ended)
    return {
        "orders": orders,
        "ended": ended,
        "last_ended_s": last.timestamp() - last_due if ended == orders else waited,
        "p50_s": _known(figures.percentile(seconds, 50)),
        "p95_s": _known(figures.percentile(seconds, 95)),
    }


def _known(seconds: float) -> float | None:
    return None if seconds == float("inf") else seconds


def _effects(sandbox: str) -> Iterator[float]:
    """Yield the instant at which each call had its effect, by the services' own ledgers."""
    for service in SERVICES:
        with urllib.request.urlopen(f"{sandbox}/{service}/ledger", timeout=30) as answer:
            for effect in json.load(answer)["effects"]:
                yield datetime.fromisoformat(effect["at"]).timestamp()
