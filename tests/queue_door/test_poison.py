"""Messages that kill careless consumers, on a real RabbitMQ: kept, and nothing stops."""

import json
import struct
from typing import Any

import amqp
import pytest

from tests.queue_door.poison import BODIES
from tests.queue_door.sending import BODY, QUEUE, channel, publish

pytestmark = pytest.mark.slow
sqlite_is_enough = pytest.mark.parametrize("door", ["sqlite+rabbitmq"], indirect=True)


@pytest.mark.fault("F29")
def test_poison_is_kept_and_the_consumer_lives(door):
    door.start()
    pid = door.system.processes["consumer"].pid
    token = door.token
    with channel(door.url) as to:
        to.queue_declare("replies.acme.in", durable=True, auto_delete=False)
        for name, (body, _, _) in BODIES.items():
            publish(to, name.replace(" ", "-"), token, body=body)
        publish(to, None, token)
        publish(to, "huge", token, body=b"x" * 20_000_000)
        publish(to, "wrong", "sas_0123abcd_wrong", reply_to="replies.acme.in")
        publish(to, "foreign", token, client="other")
        publish(to, "bomb", token, body=b"x", headers={"compression": "bzip2", "token": token})
        publish(to, "packed", token, content_encoding="gzip")
        publish(to, "astray", token, reply_to="sas.reports")
        publish(to, "told", token, body=b"{", reply_to="replies.acme.in", correlation_id="c-1")
        publish(to, "gone", token, body=b"{", reply_to="replies.acme.gone")
        publish(to, "pickle-type", token, content_type="application/x-python-serialize")
        publish(to, "last", token)
        found = door.when_handled(len(BODIES) + 11)

        assert found["orders"] == ["pickle-type", "last"]
        letters = {one["message_id"]: one for one in found["letters"]}
        assert len(found["letters"]) == len(BODIES) + 9
        for name, (_, field, word) in BODIES.items():
            (reason, *_) = letters[name.replace(" ", "-")]["reasons"]
            assert reason["field"] == field, name
            assert word in reason["problem"], name
        told = {name: one["properties"].get("answer") for name, one in letters.items()}
        assert told["told"] == "sent"
        assert told["gone"] == "not sent: there is no queue replies.acme.gone"
        assert told["wrong"] == "not sent: who submitted it is not proven"
        assert told["astray"] == "not sent: reply_to lies outside replies.acme."
        answer = to.basic_get("replies.acme.in", no_ack=True)
        assert json.loads(answer.body)["message_id"] == "told"
        assert answer.properties["correlation_id"] == "c-1"
        assert to.basic_get("replies.acme.in", no_ack=True) is None
        assert to.queue_declare(QUEUE, passive=True).message_count == 0
    assert door.system.processes["consumer"].pid == pid
    assert door.system.processes["consumer"].poll() is None
    assert "broker_lost" not in door.log()
    everything = json.dumps(found) + door.log()
    assert token[14:] not in everything


@sqlite_is_enough
def test_properties_that_no_library_reads_are_kept_and_block_nothing(door):
    """py-amqp raises at these before anybody sees the message; it would come again for ever."""
    door.start()
    with channel(door.url) as to:
        publish(to, "before", door.token)
        _publish_raw(to, b"a\xff", timestamp=None)
        _publish_raw(to, b"late", timestamp=2**62)
        publish(to, "after", door.token)
        found = door.when_handled(4)
        assert found["orders"] == ["before", "after"]
        assert [one["reasons"][0]["field"] for one in found["letters"]] == ["properties"] * 2
        assert to.queue_declare(QUEUE, passive=True).message_count == 0
    assert "broker_lost" not in door.log()


def _publish_raw(to: Any, key: bytes, *, timestamp: int | None) -> None:
    """Publish with a message id of any bytes, or with a header of any instant."""

    class Raw(amqp.Message):  # type: ignore[misc]
        def _serialize_properties(self) -> bytes:
            flags, parts = 1 << 7, struct.pack(">B", len(key)) + key
            if timestamp is not None:
                table = b"\x01tT" + struct.pack(">Q", timestamp)
                flags |= 1 << 13
                parts = struct.pack(">I", len(table)) + table + parts
            return struct.pack(">H", flags) + parts

    to.basic_publish(Raw(json.dumps(BODY)), exchange="", routing_key=QUEUE, confirm_timeout=10)
