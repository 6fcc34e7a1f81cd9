"""The pages' clients and receivers, run as they are printed, against a running system."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from tests.programs import free_port, until
from workers.protocol.webhook_signing import signature

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PLACE = """
from orders.submission import Customer, Line, place_order
place_order(Customer("Ann", "ann@example.org", "Street 1"), [Line("SKU-001", 1)],
            submission_key="by-webhook", source="api", submitter="client:acme",
            callback_url="{url}")
"""


def example(page: str, holding: str) -> str:
    """Return the Python block of a page that holds a text."""
    text = (HOW_TO / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (found,) = [block for block in blocks if holding in block]
    return str(found)


def test_both_how_to_pages_give_client_the_same_rabbitmq_permissions():
    pages = ("submit-by-queue", "limit-what-processes-may-do")
    lines = [
        re.findall(r"set_permissions (?:-p shop )?acme (.*)", (HOW_TO / f"{page}.md").read_text())
        for page in pages
    ]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 1


class Program:
    """An example as a process of its own, and what it prints."""

    def __init__(self, name: str, source: str, folder: Path, **environment: str) -> None:
        self.output = folder / f"{name}.out"
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", source],
            env={**os.environ, **environment},
            stdout=self.output.open("wb"),
            stderr=subprocess.STDOUT,
        )

    def printed(self) -> list[str]:
        return self.output.read_text().splitlines()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


Run = Callable[..., Program]


@pytest.fixture
def run(tmp_path) -> Iterator[Run]:
    programs: list[Program] = []

    def start(name: str, source: str, **environment: str) -> Program:
        programs.append(Program(name, source, tmp_path, **environment))
        return programs[-1]

    yield start
    for program in programs:
        program.end()


@pytest.mark.slow
@pytest.mark.parametrize("door", ["sqlite+rabbitmq"], indirect=True)
def test_an_order_by_queue_is_told_on_the_reply_queue_and_by_webhook(door, run):
    door.start()
    door.system.start("worker", "-m", "celery", "-A", "sasproject", "worker", "--concurrency", "2")
    environment = {"AMQP_URL": door.url, "ACME_TOKEN": door.token}
    reader = run("reader", example("receive-statuses", "basic_consume"), **environment)

    client = run("client", example("submit-by-queue", "basic_publish"), **environment)
    assert client.process.wait(30) == 0, client.printed()
    until(lambda: any(line.endswith("1 pending submitted") for line in reader.printed()), 60)

    spoilt = example("submit-by-queue", "basic_publish").replace("SKU-001", "SKU-X")
    assert run("spoilt", spoilt, **environment).process.wait(30) == 0
    until(lambda: any("We do not sell SKU-X" in line for line in reader.printed()), 60)
    assert reader.process.poll() is None, reader.printed()
    assert [letter["client"] for letter in door.look()["letters"]] == ["acme"]

    port = free_port()
    secret = door.system.manage("client", "webhook-secret", "acme").split()[-1]
    receiver = run(
        "receiver",
        example("receive-statuses", "HTTPServer("),
        ACME_WEBHOOK_SECRET=secret,
        PORT=str(port),
    )
    door.system.python(PLACE.format(url=f"http://127.0.0.1:{port}/told"))
    until(lambda: any(line.endswith("1 pending submitted") for line in receiver.printed()), 60)
    assert not [line for line in receiver.printed() if '" 401 ' in line]


def is_ours() -> Callable[[str, dict[str, str], bytes], bool]:
    names: dict[str, Any] = {}
    exec(compile(example("receive-statuses", "def is_ours"), "receive-statuses.md", "exec"), names)
    check: Callable[[str, dict[str, str], bytes], bool] = names["is_ours"]
    return check


def signed(body: bytes, *by: str, ago: int = 0) -> dict[str, str]:
    at = int(time.time()) - ago
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(at),
        "webhook-signature": signature(by or (SECRET,), "msg_1", at, body),
    }


def test_the_check_in_ten_lines_takes_what_we_sign():
    body = b'{"number": 7}'
    other = "whsec_" + "A" * 32
    assert is_ours()(SECRET, signed(body), body)
    assert is_ours()(SECRET, signed(body, other, SECRET), body)
    assert Webhook(SECRET).verify(body, signed(body, other, SECRET)) == {"number": 7}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda: {"webhook-id": "msg_2"},
        lambda: {"webhook-timestamp": "soon"},
        lambda: {"webhook-timestamp": ""},
        lambda: {"webhook-signature": ""},
        lambda: {"webhook-signature": "v1,é"},
        lambda: {"webhook-signature": "v1"},
        lambda: signed(b"{}", ago=302),
        lambda: signed(b"{}", ago=-600),
        lambda: signed(b"{} "),
        lambda: signed(b"{}", "whsec_" + "A" * 32),
    ],
    ids=[
        *("other id", "no time", "empty time", "no signature", "not ASCII", "no value"),
        *("too old", "too new", "other body", "other secret"),
    ],
)
def test_the_check_in_ten_lines_takes_nothing_else(spoil):
    assert is_ours()(SECRET, signed(b"{}") | spoil(), b"{}") is False
    # Without any header it is none of ours either.
    assert is_ours()(SECRET, {}, b"{}") is False
