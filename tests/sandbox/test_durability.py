"""What the services did and promised outlives them, and a kill -9."""

import socket
import sqlite3
import threading
import time
from http.client import HTTPException

import pytest

from orders.sandbox.ledger import Ledger
from orders.sandbox.server import Sandbox
from orders.sandbox.writer import StoreClosed, Writer
from tests import programs
from tests.sandbox.caller import Caller
from tests.sandbox.running import Running


def test_every_answered_effect_survives_a_kill_in_the_middle(tmp_path, store):
    answered: dict[str, bytes] = {}
    progress = threading.Semaphore(0)

    def charge(caller: Caller, thread: int) -> None:
        for n in range(1, 10_000):
            try:
                reply = caller.post("/payment/charge", f"k{thread}-{n}", order=n)
            except (OSError, HTTPException):
                return
            answered[f"k{thread}-{n}"] = reply.raw
            progress.release()

    with Running(tmp_path, "--port", "0") as running:
        caller = Caller(running.url)
        caller.set_faults("billing", fail_every=7)
        threads = [threading.Thread(target=charge, args=[caller, n]) for n in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(60):
            assert progress.acquire(timeout=10)
        running.kill()
        for thread in threads:
            thread.join()

    with Sandbox(store) as sandbox:
        caller = Caller(sandbox.url)
        keys = [key for _, key, _ in caller.effects("payment")]
        assert len(keys) == len(set(keys))
        assert answered.keys() <= set(keys)
        assert len(keys) - len(answered) <= len(threads)
        assert caller.faults("billing") == {"fail_every": 7}
        for key in list(answered)[-5:]:
            order = int(key.rpartition("-")[2])
            assert caller.post("/payment/charge", key, order=order).raw == answered[key]
        assert len(caller.effects("payment")) == len(keys)


def test_closed_sandbox_closes_idle_connections_and_refuses_new_ones(store):
    with Sandbox(store) as sandbox:
        host, port = Caller(sandbox.url).address.split(":")
        connection = socket.create_connection((host, int(port)), timeout=5)
        connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")

    with connection:
        assert connection.recv(65536) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


def test_work_that_fails_stores_nothing_of_its_batch(store):
    writer = Writer(store, ("CREATE TABLE t (a)",), lambda connection: None)

    def half(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("INSERT INTO missing VALUES (1)")

    with pytest.raises(sqlite3.OperationalError, match="missing"):
        writer.run(half)
    rows = writer.run(lambda connection: connection.execute("SELECT a FROM t").fetchall())
    writer.close()

    assert rows == []
    with pytest.raises(StoreClosed):
        writer.run(half)


def test_counts_reach_the_disk_by_themselves(store):
    ledger = Ledger(store)
    ledger.counts.add("payment", "calls")
    deadline = time.monotonic() + 5
    count = None
    while count is None and time.monotonic() < deadline:
        time.sleep(0.05)
        with sqlite3.connect(store) as connection:
            count = connection.execute("SELECT value FROM counts").fetchone()
    ledger.close()

    assert count == (1,)


def test_a_full_store_is_told_and_has_no_effect(caller, store):
    with sqlite3.connect(store) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON remembered"
            " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )

    reply = caller.post("/payment/charge", "k1", order=1)

    assert (reply.status, reply.body["error"]) == (500, "store_failed")
    assert caller.effects("payment") == []


def test_the_services_need_neither_django_nor_celery():
    script = (
        "import sys, orders.sandbox.server;"
        "print(sorted({'django', 'celery', 'kombu', 'workers'} & sys.modules.keys()))"
    )

    printed = programs.python("-c", script, check=True)

    assert printed.stdout == "[]\n"
