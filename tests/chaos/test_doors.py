"""The doors: a client that gives up on nothing but a no, and remembers every yes."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos.accepted import Register
from tests.chaos.chronicle import Chronicle
from tests.chaos.doors.direct import DirectDoor
from tests.chaos.doors.http import HttpDoor
from tests.chaos.doors.purchases import purchase
from tests.chaos.doors.queue import QueueDoor, Waiting
from tests.chaos.observer import FINAL
from tests.programs import until


class Shop(HTTPServer):
    """Answers requests one after the other as it was told; None is a broken connection."""

    def __init__(self, *answers: tuple[int, Any] | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str | None, bytes]] = []
        super().__init__(("127.0.0.1", 0), Asked)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class Asked(BaseHTTPRequestHandler):
    server: Shop

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.path, self.headers.get("Idempotency-Key"), body))
        answer = self.server.answers.pop(0)
        if answer is None:
            self.close_connection = True
            return
        self.send_response(answer[0])
        self.end_headers()
        self.wfile.write(json.dumps(answer[1]).encode())

    do_POST = do_GET = _answer  # noqa: N815 (the standard library's names)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def register(tmp_path) -> Iterator[Register]:
    register = Register(tmp_path / "accepted.jsonl")
    yield register
    register.close()


def system_of(port: int) -> Any:
    url = f"http://127.0.0.1:{port}"
    return SimpleNamespace(web_url=url, token="t", chronicle=Chronicle())


def test_the_same_key_is_sent_until_there_is_an_answer(register, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.chaos.doors.http.AGAIN_SECONDS", 0.0)
    with Shop(None, (503, {}), (429, {}), (500, "no JSON of ours"), (200, {"number": 7})) as shop:
        door = HttpDoor(system_of(shop.server_port), register)
        bought = purchase(1, 5)
        door.place([bought], None)
        until(lambda: door.is_done, 10)
        door.close()
        shop.shutdown()
    assert {(key, json.loads(body)["reference"]) for _, key, body in shop.asked} == {
        (bought.key, bought.key)
    }
    assert len(shop.asked) == 5
    (found,) = register.orders()
    assert (found.key, found.number, found.door, found.is_late) == (bought.key, 7, "http", False)
    written = [json.loads(line) for line in (tmp_path / "accepted.jsonl").read_text().splitlines()]
    assert [line["number"] for line in written] == [7]


def test_a_no_is_remembered_as_a_no(register):
    with Shop((422, {"detail": "sold out"})) as shop:
        door = HttpDoor(system_of(shop.server_port), register)
        door.place([purchase(1, 5)], None)
        until(lambda: door.is_done, 10)
        door.close()
        shop.shutdown()
    assert len(register) == 0
    assert len(register.refused) == 1
    assert "422" in register.refused[0]
    assert "sold out" in register.refused[0]


def test_only_the_direct_door_has_a_process_that_can_crash(register):
    door = DirectDoor(system_of(1), register)
    assert (HttpDoor(system_of(1), register).crash(), door.crash()) == (False, False)
    waits = [sys.executable, "-c", "input()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, text=True) as process:
        door._process = process
        assert door.crash() is True
        assert process.wait(10) == -signal.SIGKILL
        assert door.crash() is False


def test_orders_are_drawn_from_the_seed():
    assert purchase(1, 5) == purchase(1, 5)
    assert purchase(1, 5) != purchase(2, 5)
    addresses = [purchase(1, number).body["customer"]["address"] for number in range(1000)]
    assert 10 < sum("Nowhere" in address for address in addresses) < 60


def waiting_door(register: Register, port: int, *keys: int) -> QueueDoor:
    door = QueueDoor(system_of(port), register)
    for number in keys:
        bought = purchase(1, number)
        door._waiting[bought.key] = Waiting(bought, 0.0, 0.0)
    return door


def status(key: str, number: int, sequence: int, state: str) -> tuple[str, Any]:
    body = {"type": "order.status", "number": number, "sequence": sequence, "state": state}
    message = SimpleNamespace(ack=lambda: None, properties={"correlation_id": key})
    return json.dumps(body), message


def test_a_status_is_a_yes_and_gaps_are_seen(register):
    door = waiting_door(register, 1, 1, 2, 3)
    keys = [purchase(1, number).key for number in (1, 2, 3)]
    for told in (
        status(keys[0], 10, 1, "pending"),
        status(keys[0], 10, 1, "pending"),
        status(keys[0], 10, 2, "processed"),
        status(keys[1], 20, 1, "pending"),
        status(keys[1], 20, 3, "processed"),
        status(keys[2], 30, 1, "pending"),
    ):
        door._on_status(*told)
    assert [order.number for order in register.orders()] == [10, 20, 30]
    assert door.gaps([10, 20, 30, 40], FINAL) == [
        "order 20 has statuses [1, 3]",
        "order 30 was last told as pending",
        "order 40 has statuses []",
    ]


def test_door_resends_only_unanswered_orders_that_shop_lacks(register, monkeypatch):
    sent: list[str] = []
    with Shop((200, {"orders": [{"number": 7}]}), (200, {"orders": []})) as shop:
        door = waiting_door(register, shop.server_port, 1, 2)
        monkeypatch.setattr(door, "_publish", lambda bought: sent.append(bought.key))
        door._ask_about_silence()
        shop.shutdown()
    assert [order.key for order in register.orders()] == [purchase(1, 1).key]
    assert sent == [purchase(1, 2).key]
    assert [path.partition("=")[2] for path, _, _ in shop.asked] == [
        purchase(1, 1).key,
        purchase(1, 2).key,
    ]
