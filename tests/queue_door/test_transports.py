"""Raw messages by kombu's transports in memory and in files: taken, acknowledged, answered."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from kombu import Connection, Producer

from orders.consumer import inbox as inboxes
from orders.consumer.answers import Answers
from orders.consumer.handling import HandlingResult, handle
from orders.consumer.inbox import Inbox
from orders.consumer.loop import Consumer
from orders.consumer.message import Message
from orders.models import DeadLetter, Order
from tests.queue_door.conftest import Make
from tests.queue_door.sending import BODY, QUEUE


@pytest.fixture(params=["memory", "filesystem"])
def broker(request, settings, tmp_path) -> Iterator[Connection]:
    settings.CELERY_BROKER_URL = f"{request.param}://"
    options: dict[str, Any] = {"polling_interval": 0.01}
    if request.param == "filesystem":
        for name in ("data_folder_in", "data_folder_out", "control_folder"):
            folder = tmp_path / name.partition("_")[0]
            folder.mkdir(exist_ok=True)
            options[name] = str(folder)
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = options
    with inboxes.connect() as connection:
        yield connection
        connection.default_channel.queue_purge(QUEUE)
        connection.default_channel.queue_purge("replies.acme.x")


@pytest.fixture
def inbox(broker) -> Iterator[Inbox]:
    inbox = Inbox()
    inbox.open()
    yield inbox
    inbox.close()


def publish(broker: Connection, body: Any, **options: Any) -> None:
    producer = broker.Producer(auto_declare=False)
    raw = body if isinstance(body, bytes | str) else json.dumps(body)
    options = {"content_type": "application/json", "content_encoding": "utf-8", **options}
    producer.publish(raw, exchange="", routing_key=QUEUE, **options)


def taken(inbox: Inbox, seconds: float = 2) -> Message:
    for _ in range(int(seconds / 0.05)):
        if inbox.waiting:
            return inbox.waiting.popleft()
        inbox.wait(0.05)
    raise AssertionError("no message")


def test_a_message_arrives_as_it_was_sent(inbox, broker):
    publish(broker, BODY, headers={"client": "acme"}, message_id="k", correlation_id="c")
    message = taken(inbox)
    assert json.loads(message.body) == BODY
    assert message.header("client") == "acme"
    assert [message.text(name) for name in ("message_id", "correlation_id")] == ["k", "c"]
    assert not message.is_user_proven
    inbox.ack(message)


def test_nothing_is_decoded_or_unpacked(inbox, broker):
    publish(broker, b"\x80\x04N.", content_type="application/x-python-serialize")
    message = taken(inbox)
    assert message.body == b"\x80\x04N."
    inbox.ack(message)
    publish(broker, b"no zlib", headers={"compression": "application/x-gzip"})
    message = taken(inbox)
    assert message.body == b"no zlib"
    inbox.ack(message)


@pytest.mark.parametrize(
    ("properties", "word"),
    [({"body_encoding": "rot13"}, "body_encoding"), ({"body_encoding": "base64"}, "")],
)
def test_an_envelope_that_lies(inbox, broker, properties, word):
    channel: Any = broker.default_channel
    payload = {"body": "not base64!", "headers": {"client": "acme"}, "properties": properties}
    channel._put(QUEUE, payload)
    message = taken(inbox)
    assert word in message.unreadable
    inbox.ack(message)


@pytest.mark.parametrize("payload", [7, [], {}, {"properties": None}, "text", None])
def test_no_envelope_at_all(inbox, broker, payload):
    channel: Any = broker.default_channel
    channel._put(QUEUE, payload)
    message = taken(inbox)
    assert message.unreadable == "it has no envelope"
    inbox.ack(message)


def test_what_is_not_acknowledged_comes_again(inbox, broker):
    if broker.transport.driver_type == "memory":
        pytest.skip("kombu's transport in memory gives nothing back")
    publish(broker, BODY, message_id="k")
    assert not taken(inbox).is_redelivered
    inbox.close()
    inbox.open()
    message = taken(inbox)
    assert message.text("message_id") == "k"
    inbox.ack(message)
    inbox.close()
    inbox.open()
    with pytest.raises(AssertionError):
        taken(inbox, 0.2)


@pytest.mark.django_db(transaction=True)
def test_the_whole_door(broker, make, token, monkeypatch):
    queue = broker.SimpleQueue("replies.acme.x", no_ack=True)
    headers = {"client": "acme", "token": token}
    publish(broker, BODY, message_id="1", headers=headers)
    publish(broker, b"{", message_id="2", headers=headers, reply_to="replies.acme.x")
    publish(broker, BODY, message_id="3", headers=headers)
    consumer = Consumer(Inbox(), Answers())
    real, acked = Inbox.ack, []

    def ack(self: Inbox, message: Message) -> None:
        assert not connection.in_atomic_block
        real(self, message)
        acked.append(message)
        # Files of the same millisecond come in any order.
        if len(acked) == 3:
            consumer.stop()

    monkeypatch.setattr(Inbox, "ack", ack)
    consumer.run()
    assert {order.submission_key for order in Order.objects.all()} == {"1", "3"}
    assert DeadLetter.objects.get().properties["answer"] == "sent"
    told = json.loads(queue.get(timeout=2).body)
    assert told.pop("errors")[0]["field"] == "body"
    assert told == {
        "type": "submission.refused", "version": 1, "message_id": "2", "correlation_id": "",
    }  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("reply_to", "headers", "word"),
    [
        ("replies.other.x", {}, "outside replies.acme."),
        ("orders.submissions", {}, "outside replies.acme."),
        ("replies.acme.x", {"token": "wrong"}, "not proven"),
        ("", {}, None),
    ],
)
def test_who_is_not_told(broker, make, reply_to, headers, word):
    message = make(body=b"{", reply_to=reply_to, headers=headers)
    handled = handle(message)
    Answers().tell(message, handled)
    letter = DeadLetter.objects.get()
    assert word is None or word in letter.properties["answer"]
    assert (word is None) == ("answer" not in letter.properties)
    assert broker.default_channel._size("replies.acme.x") == 0  # type: ignore[attr-defined]


@pytest.mark.django_db
@pytest.mark.parametrize("given", ["\ud800", "x" * 300, "a\nb"])
def test_a_correlation_id_that_is_no_good_is_left_out_of_the_answer(
    broker: Connection, make: Make, given: str
) -> None:
    queue = broker.SimpleQueue("replies.acme.x", no_ack=True)
    message = make(reply_to="replies.acme.x", correlation_id=given)
    sender = Answers()
    sender.tell(message, handle(message))
    sender.close()
    assert DeadLetter.objects.get().properties["answer"] == "sent"
    told = json.loads(queue.get(timeout=2).body)
    assert told["correlation_id"] == ""
    assert [one["field"] for one in told["errors"]] == ["correlation_id"]


@pytest.mark.django_db
def test_a_broker_that_takes_no_answer_is_tried_twice_and_noted(make, monkeypatch):
    message = make(body=b"{", reply_to="replies.acme.x")
    handled: HandlingResult = handle(message)
    tries: list[int] = []

    def publish(*_: Any, **options: Any) -> None:
        tries.append(1)
        raise OSError("blocked")

    monkeypatch.setattr(Producer, "publish", publish)
    Answers("memory://").tell(message, handled)
    assert len(tries) == 2
    assert "OSError: blocked" in DeadLetter.objects.get().properties["answer"]


@pytest.mark.django_db
def test_a_broker_that_is_not_reached_holds_nothing_up(make):
    message = make(body=b"{", reply_to="replies.acme.x")
    handled = handle(message)
    # Nothing listens at this port.
    answers, said = Answers("amqp://guest:guest@127.0.0.1:1//"), []
    letter = handled.letter
    assert letter is not None
    asked = threading.Thread(
        target=lambda: said.append(answers._answer(message, handled, letter)), daemon=True
    )
    asked.start()
    asked.join(15)
    assert said
    assert "refused" in said[0]


@pytest.mark.django_db
def test_answer_is_not_sent_to_full_reply_queue(broker, make, monkeypatch):
    monkeypatch.setattr("workers.wire.confirmed.MOST_WAITING", 2)
    sender = Answers()
    for key in ("1", "2", "3"):
        message = make(key, body=b"{", reply_to="replies.acme.x")
        sender.tell(message, handle(message))
    sender.close()
    told = DeadLetter.objects.order_by("pk").values_list("properties__answer", flat=True)
    assert list(told) == ["sent", "sent", "not sent: 2 messages wait there already"]


@pytest.mark.django_db
def test_who_was_told_is_not_told_again(make, monkeypatch):
    message = make(body=b"{", reply_to="replies.acme.x")
    sent: list[str] = []
    monkeypatch.setattr(Answers, "_send", lambda self, queue, body: sent.append(queue) or "sent")
    answers = Answers()
    answers.tell(message, handle(message))
    again = make(body=b"{", reply_to="replies.acme.x", is_redelivered=True)
    answers.tell(again, handle(again))
    assert sent == ["replies.acme.x"]
