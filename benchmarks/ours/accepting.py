"""How many orders a second are taken, and none of them worked on meanwhile."""

import http.client
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from django.db import connection, transaction

from benchmarks import processes
from benchmarks.exceptions import Wrong
from benchmarks.ours import running, web_client
from benchmarks.ours.web_client import CUSTOMER, LINES, WebClient
from orders.demo_data import seed
from orders.models import Order, Product
from orders.submission import Customer, Line, place_order
from workers.client.submission import submit, submit_many
from workers.models import Process
from workers.ops.invariants import violations
from workers.rules.rows import NewProcess

#: Clients that send at once; each waits for its answer before it sends again.
CLIENTS = 4


def accept(folder: Path, orders: str) -> dict[str, float]:
    """Submit in four ways; return each way's orders a second."""
    running.prepare()
    if not Product.objects.exists():
        seed(with_users=False)
    wanted = int(orders)
    # The first one makes connections and reads what is cached from then on.
    _singly(1)
    _placed(1)
    found = {
        "singly": _rate(_singly, wanted),
        "placed": _rate(_placed, wanted),
        "bulk": _rate(_bulk, 5 * wanted),
        "http": _over_http(folder, wanted),
    }
    total = 2 + 8 * wanted
    if (done := Process.objects.count()) != total:
        raise Wrong(f"{done} of {total} orders are there")
    if (placed := Order.objects.count()) != 1 + 2 * wanted:
        raise Wrong(f"{placed} of {1 + 2 * wanted} orders of the shop are there")
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
    connection.close()
    return found


def _rate(take: Callable[[int], None], orders: int) -> float:
    began = time.perf_counter()
    take(orders)
    return orders / (time.perf_counter() - began)


def _singly(orders: int) -> None:
    for number in range(orders):
        with transaction.atomic():
            submit("bench_line", subject=f"order {number}", input={"number": number})


def _bulk(orders: int) -> None:
    for begin in range(0, orders, running.BULK):
        numbers = range(begin, min(begin + running.BULK, orders))
        submit_many("bench_line", [NewProcess(f"order {n}", {"number": n}) for n in numbers])


def _placed(orders: int) -> None:
    customer, lines = Customer(**CUSTOMER), [Line(**line) for line in LINES]
    for _ in range(orders):
        place_order(customer, lines, submission_key=uuid.uuid4().hex, source="benchmark")


def _over_http(folder: Path, orders: int) -> float:
    token = web_client.token()
    with processes.fleet(folder, {}) as fleet:
        port = running.start_web(fleet)
        _post(port, token, 1)
        share = orders // CLIENTS
        failed: list[str] = []
        clients = [
            threading.Thread(target=_client, args=(port, token, count, failed))
            for count in [share] * (CLIENTS - 1) + [orders - share * (CLIENTS - 1) - 1]
        ]
        began = time.perf_counter()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        seconds = time.perf_counter() - began
    if failed:
        raise Wrong(f"a client of the web server ended: {failed[0]}")
    return (orders - 1) / seconds


def _client(port: int, token: str, orders: int, failed: list[str]) -> None:
    try:
        _post(port, token, orders)
    except (OSError, http.client.HTTPException, Wrong) as error:
        failed.append(f"{type(error).__name__}: {error}")


def _post(port: int, token: str, orders: int) -> None:
    client = WebClient(f"127.0.0.1:{port}", token)
    for _ in range(orders):
        client.order()
    client.close()
