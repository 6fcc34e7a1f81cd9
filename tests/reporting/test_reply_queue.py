"""Private reply queues on a real RabbitMQ."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from celery import current_app
from kombu import Connection

from sasproject import brokers
from sasproject.celery import app
from tests.integration.conftest import begin
from tests.reporting.conftest import QUEUE, sink_of, told
from tests.services import own_redis_database
from workers.notify import relay
from workers.notify.senders import NotSent, StatusMessage, Undelivered, reply_queue
from workers.store import sinks
from workers.wire import publisher
from workers.wire.confirmed import ConfirmedConnection

Send = Callable[[StatusMessage], None]
NAME = QUEUE.address
LETTER = StatusMessage(NAME, b'{"sequence": 1}', "msg_1", "toy.status", 1, False, "cart-7")


@pytest.fixture
def broker(vhost, monkeypatch) -> Iterator[Connection]:
    """A connection to a broker that Celery's app sends to, without a reply queue."""
    options = {"confirm_publish": True, "read_timeout": 10, "write_timeout": 10}
    made = app.connection_for_write

    def connect(*args: Any, transport_options: dict[str, Any] | None = None) -> Connection:
        return made(vhost, transport_options=options | (transport_options or {}))

    assert current_app._get_current_object() is app
    monkeypatch.setattr(app, "connection_for_write", connect)
    with Connection(vhost) as connection:
        _drop_queue(connection)
        yield connection


@pytest.fixture
def own(monkeypatch) -> Iterator[ConfirmedConnection]:
    """The connection over which submitters are told."""
    own = ConfirmedConnection(publisher.connect)
    monkeypatch.setattr(reply_queue, "connection", lambda: own)
    yield own
    own.close()


@pytest.fixture
def send(own) -> Send:
    return reply_queue.send


def _make_queue(broker: Connection, **options: Any) -> None:
    channel = broker.channel()
    channel.queue_declare(NAME, durable=True, auto_delete=False, arguments=options)
    channel.close()


def _drop_queue(broker: Connection) -> None:
    channel = broker.channel()
    channel.queue_delete(NAME)
    channel.close()


def _taken(broker: Connection) -> list[Any]:
    channel = broker.channel()
    found = []
    while (message := channel.basic_get(NAME, no_ack=True)) is not None:
        found.append(message)
    channel.close()
    return found


def test_a_message_arrives_persistent_and_with_its_properties(broker, send):
    _make_queue(broker)

    send(LETTER)

    (message,) = _taken(broker)
    assert json.loads(message.body) == {"sequence": 1}
    properties = message.properties
    assert properties["delivery_mode"] == 2
    assert properties["correlation_id"] == "cart-7"
    assert properties["message_id"] == "msg_1"
    assert properties["type"] == "toy.status"
    assert message.content_type == "application/json"


@pytest.mark.fault("F32")
def test_a_queue_that_is_not_there_is_noticed_and_the_next_message_is_not_blamed(broker, send):
    _make_queue(broker)
    gone = replace(LETTER, address="replies.acme.gone")

    for _ in range(5):
        with pytest.raises(Undelivered, match="no such queue"):
            send(gone)
        send(LETTER)

    assert len(_taken(broker)) == 5


@pytest.mark.fault("F32")
def test_a_queue_that_vanishes_between_two_messages_is_noticed(broker, send):
    _make_queue(broker)
    send(LETTER)
    _drop_queue(broker)

    with pytest.raises(Undelivered, match="no such queue"):
        send(LETTER)


@pytest.mark.fault("F32")
def test_a_queue_that_is_full_is_noticed(broker, send):
    _make_queue(broker, **{"x-max-length": 1, "x-overflow": "reject-publish"})
    send(LETTER)

    with pytest.raises(Undelivered, match="full"):
        send(LETTER)


def test_a_connection_that_was_closed_meanwhile_is_made_again(broker, send, own):
    _make_queue(broker)
    send(LETTER)
    own._connection.connection.sock.shutdown(socket.SHUT_RDWR)

    send(LETTER)

    assert len(_taken(broker)) == 2


def test_a_broker_that_is_away_is_no_failure_of_the_queue(send, monkeypatch):
    monkeypatch.setattr(
        app, "connection_for_write", lambda **_: Connection("amqp://guest:guest@127.0.0.1:1//")
    )
    with pytest.raises(NotSent):
        send(LETTER)


def test_a_vanished_queue_that_is_made_again_gets_everything(broker, send, wire, monkeypatch):
    monkeypatch.setitem(relay.senders, "queue", send)
    _make_queue(broker)
    process = told()
    begin(wire)
    relay.report()
    assert [json.loads(one.body)["sequence"] for one in _taken(broker)] == [1, 2]
    _drop_queue(broker)

    wire.run_until_idle()

    process.refresh_from_db()
    assert process.state == "processed", "the order does not wait for it"
    sink = sink_of(process)
    assert (sink.state, sink.cursor, sink.tries) == ("open", 2, 1)
    _make_queue(broker)
    sinks.redeliver(sink.pk, actor="operator:ann")
    relay.report()
    assert [json.loads(one.body)["sequence"] for one in _taken(broker)] == [3, 4, 5]
    assert sink_of(process).state == "ended"


@pytest.fixture(params=["memory", "filesystem", "redis"])
def lesser_broker(request, tmp_path) -> Iterator[Any]:
    """What makes a connection to a broker that neither confirms nor gives back."""
    with ExitStack() as stack:
        if request.param == "memory":
            url, options = "memory://", {}
        elif request.param == "filesystem":
            url, options = brokers.configure("", tmp_path)
        else:
            url, options = brokers.configure(stack.enter_context(own_redis_database()), tmp_path)
        yield lambda **_: Connection(url, transport_options=options)


def test_without_confirms_a_message_counts_once_it_is_handed_over(
    lesser_broker, send, own, monkeypatch
):
    monkeypatch.setattr(app, "connection_for_write", lesser_broker)

    send(LETTER)
    send(LETTER)

    first, second = _taken(own._connection)
    assert json.loads(first.body) == json.loads(second.body) == {"sequence": 1}
    assert first.properties["correlation_id"] == "cart-7"
