"""One message over a connection of one's own: what is tried again, and what is told at once."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kombu import Connection, Producer

from workers.exceptions import BrokerRefused
from workers.wire import confirmed
from workers.wire.confirmed import ConfirmedConnection

QUEUE = "replies.acme.in"


@pytest.fixture
def connects(monkeypatch) -> Iterator[Callable[[str], ConfirmedConnection]]:
    """Make connections that are closed in the end; each counts how often it was made."""
    made: list[ConfirmedConnection] = []

    def of(url: str) -> ConfirmedConnection:
        def connect(**options: Any) -> Connection:
            connection.times += 1  # type: ignore[attr-defined]
            return Connection(url, transport_options=options)

        connection = ConfirmedConnection(connect)
        connection.times = 0  # type: ignore[attr-defined]
        made.append(connection)
        return connection

    yield of
    for connection in made:
        connection.close()


def refusal_of(connection: Any, queue: str = QUEUE) -> str:
    with pytest.raises(BrokerRefused) as caught:
        connection.send(queue, b"{}")
    return caught.value.code


def failing(error: Exception, times: int) -> tuple[list[str], Callable[..., None]]:
    """Return a ``Producer.publish`` that raises so many times, and what it was asked for."""
    asked: list[str] = []
    publish = Producer.publish

    def fails(self: Producer, body: Any, *, routing_key: str, **options: Any) -> None:
        asked.append(routing_key)
        if len(asked) <= times:
            raise error
        publish(self, body, routing_key=routing_key, **options)

    return asked, fails


@pytest.mark.parametrize(("times", "code"), [(1, None), (2, "broken")])
def test_what_breaks_with_its_connection_goes_once_more_over_a_new_one(
    connects, monkeypatch, times, code
):
    connection = connects("memory://")
    asked, fails = failing(ConnectionResetError("gone"), times)
    monkeypatch.setattr(Producer, "publish", fails)

    if code is None:
        connection.send("broken.once", b"{}")
    else:
        assert refusal_of(connection, "broken.twice") == code

    assert (len(asked), connection.times) == (2, 2)


def test_a_broker_that_is_silent_is_not_asked_again(vhost, connects):
    connection = connects(vhost)
    with Connection(vhost) as other:
        other.channel().queue_declare(QUEUE)
    connection.send(QUEUE, b"{}")

    def silence(timeout: float) -> None:
        raise TimeoutError("nothing came")

    connection._connection.drain_events = silence

    assert refusal_of(connection) == "silent"
    assert (connection._producer, connection.times) == (None, 1)


def test_a_broker_that_is_not_reached_is_not_asked_again(connects):
    connection = connects("amqp://guest:guest@127.0.0.1:1//")

    assert refusal_of(connection) == "away"
    assert connection.times == 1


def test_refused_message_is_reported_and_connection_stays_usable(vhost, connects):
    connection = connects(vhost)
    with Connection(vhost) as other:
        channel = other.channel()
        channel.queue_declare(QUEUE)
        limits = {"x-max-length": 1, "x-overflow": "reject-publish"}
        channel.queue_declare("replies.acme.full", arguments=limits)
    connection.send("replies.acme.full", b"{}")

    assert refusal_of(connection, "replies.acme.full") == "queue_refused"
    assert refusal_of(connection, "replies.acme.gone") == "no_queue"
    connection.send(QUEUE, b"{}")

    assert connection.times == 1


def test_a_queue_that_its_broker_does_not_limit_is_limited_here(connects, monkeypatch):
    monkeypatch.setattr(confirmed, "MOST_WAITING", 2)
    connection = connects("memory://")
    connection.send("replies.acme.unread", b"{}")
    connection.send("replies.acme.unread", b"{}")

    assert refusal_of(connection, "replies.acme.unread") == "queue_refused"
    connection.send("replies.acme.read", b"{}")

    assert connection.times == 1


def test_what_is_none_of_the_broker_s_is_raised_as_it_is(connects, monkeypatch):
    monkeypatch.setattr(Producer, "publish", failing(KeyError("ours"), 1)[1])

    with pytest.raises(KeyError):
        connects("memory://").send(QUEUE, b"{}")


def test_connection_idle_for_long_is_replaced_before_publishing(vhost, connects, monkeypatch):
    connection = connects(vhost)
    for _ in range(2):
        assert refusal_of(connection, "replies.idle") == "no_queue"
    assert connection.times == 1

    monkeypatch.setattr(confirmed, "FRESH_SECONDS", -1.0)
    assert refusal_of(connection, "replies.idle") == "no_queue"
    assert connection.times == 2
