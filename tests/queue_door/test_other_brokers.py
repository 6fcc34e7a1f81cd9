"""The consumer as its process where there is no AMQP: Redis, and files."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from kombu import Connection

from sasproject import brokers
from tests.acceptance.backends import backends
from tests.acceptance.system import System
from tests.programs import until
from tests.queue_door.door import Door, prepare
from tests.queue_door.sending import BODY, QUEUE

pytestmark = pytest.mark.slow


@pytest.fixture(params=["sqlite+redis", "sqlite+filesystem"])
def door(request, tmp_path) -> Iterator[Door]:
    with ExitStack() as stack:
        urls = stack.enter_context(backends(request.param, tmp_path))
        system = stack.enter_context(System(tmp_path, **urls, SAS_LOG_LEVEL="INFO"))
        prepare(system)
        yield Door(system, urls["BROKER_URL"])


@pytest.fixture
def producer(door) -> Iterator[Any]:
    url, options = brokers.configure(door.url, door.system.folder)
    with Connection(url, transport_options=options) as connection:
        yield connection.Producer(auto_declare=False)


def publish(producer: Any, door: Door, key: str, body: bytes = b"", **properties: Any) -> None:
    producer.publish(
        body or json.dumps(BODY).encode(),
        exchange="",
        routing_key=QUEUE,
        content_type="application/json",
        content_encoding="utf-8",
        message_id=key,
        headers={"client": "acme", "token": door.token},
        **properties,
    )
    # Files of one millisecond are in no order.
    time.sleep(0.002)


def test_orders_refusals_and_a_clean_end(door, producer):
    door.start()
    reply_to = "replies.acme.in"
    for n in range(10):
        publish(producer, door, f"k{n}")
    publish(producer, door, "wrong", b"{", reply_to=reply_to)
    publish(producer, door, "login", user_id="acme")
    found = door.when_handled(12)
    assert found["orders"] == [*(f"k{n}" for n in range(10)), "login"]
    assert found["letters"][0]["properties"]["answer"] == "sent"
    with producer.connection.SimpleQueue(reply_to, no_ack=True) as queue:
        assert json.loads(queue.get(timeout=5).body)["message_id"] == "wrong"

    for n in range(30):
        publish(producer, door, f"late-{n:02}")
    process = door.system.processes.pop("consumer")
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    door.start()
    found = door.when_handled(42)
    late = [key for key in found["orders"] if key.startswith("late")]
    assert sorted(late) == [f"late-{n:02}" for n in range(30)]
    assert door.token[14:] not in door.log() + json.dumps(found)


def test_what_is_no_envelope_stops_nothing(door, producer):
    door.start()
    publish(producer, door, "before")
    if door.url.startswith("redis"):
        producer.channel.client.lpush(QUEUE, b"\x80not json", b"[7]", b'{"properties": 7}')
    else:
        folder = door.system.folder / "broker" / "messages"
        for n, raw in enumerate((b"\x80not json", b"[7]", b'{"properties": 7}')):
            (folder / f"9{n}_x.{QUEUE}.msg").write_bytes(raw)
    publish(producer, door, "after")
    found = door.when_handled(4)
    assert sorted(found["orders"]) == ["after", "before"]
    assert len(found["letters"]) == 2
    until(lambda: door.log().count("broker_lost") == 1, 5)
