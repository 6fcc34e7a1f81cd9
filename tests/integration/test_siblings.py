"""What waits behind a message in its queue is taken along, on a real RabbitMQ and elsewhere."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
from kombu import Connection, Exchange, Queue
from kombu.transport.virtual.base import BrokerState

from sasproject import brokers
from sasproject.celery import app
from tests.chaos.proxy import Mode, Proxy
from tests.services import own_redis_database
from workers import tasks
from workers.celery import filesystem_transport
from workers.notify import threads
from workers.wire import dispatch, queue_drain

QUEUE = "sas.siblings"
TASK = "test.own"
OTHER = "test.other"


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    with own_redis_database() as url:
        yield url


EVERY = ["amqp", "redis", "filesystem", "memory"]


# The filesystem's messages of one millisecond come in any order.
@pytest.fixture(params=["amqp", "redis", "memory"])
def url(request) -> str:
    if request.param in ("memory", "filesystem"):
        return f"{request.param}://"
    return str(request.getfixturevalue({"amqp": "vhost", "redis": "redis"}[request.param]))


@pytest.fixture
def broker(url, tmp_path, monkeypatch) -> Iterator[Connection]:
    # What is published is there once the broker has said so.
    _, options = brokers.configure("" if url == "memory://" else url, tmp_path)
    # kombu remembers for its process what it has bound, in whichever folder that was.
    monkeypatch.setattr(filesystem_transport.Transport, "global_state", BrokerState())
    monkeypatch.setattr(
        app, "connection_for_read", lambda **_: Connection(url, transport_options=options)
    )
    monkeypatch.setattr(queue_drain, "_channel", queue_drain._Channel())
    with Connection(url, transport_options=options) as connection:
        queue = Queue(QUEUE, Exchange("sas", "direct"), routing_key=QUEUE)(connection)
        queue.declare()
        queue.purge()
        yield connection
    queue_drain._channel.drop()


def publish(broker: Connection, *numbers: int, **headers: Any) -> None:
    with broker.Producer() as producer:
        for number in numbers:
            producer.publish(
                [[number], {}, {}],
                exchange="sas",
                routing_key=QUEUE,
                headers={"task": TASK, **headers},
            )


def left(broker: Connection) -> list[int]:
    """Return what is in the queue still, and take it."""
    found: list[int] = []
    queue = Queue(QUEUE)(broker.default_channel)
    while (message := queue.get()) is not None:
        found.append(message.payload[0][0])
        message.ack()
    return found


@pytest.mark.parametrize(("most", "rest"), [(2, [3, 4, 5]), (4, [5]), (9, [])])
def test_as_many_as_wait_are_taken_and_no_more(most, rest, broker):
    publish(broker, 1, 2, 3, 4, 5)

    assert queue_drain.take_all(QUEUE, TASK, most) is True

    assert left(broker) == rest


@pytest.mark.parametrize("url", EVERY, indirect=True)
def test_an_empty_queue_has_none(broker):
    assert queue_drain.take_all(QUEUE, TASK) is False
    assert queue_drain.take_one(QUEUE, {TASK}) == ""


def test_a_broker_that_hangs_holds_up_a_look_no_longer_than_a_reply(vhost, monkeypatch, settings):
    settings.SAS_REPLY_SECONDS = 0.5
    parts = urlsplit(vhost)
    with Proxy(parts.port or 5672) as proxy:
        behind = vhost.replace(f":{parts.port}/", f":{proxy.port}/")
        _, options = brokers.configure(behind, Path())

        def connection(transport_options: dict[str, Any]) -> Connection:
            return Connection(behind, transport_options={**options, **transport_options})

        monkeypatch.setattr(app, "connection_for_read", connection)
        monkeypatch.setattr(queue_drain, "_channel", queue_drain._Channel())
        with Connection(vhost) as connection:
            Queue(QUEUE, Exchange("sas", "direct"), routing_key=QUEUE)(connection).declare()
        assert queue_drain.take_one(QUEUE, {TASK}) == ""

        proxy.set(Mode.BLACK_HOLE)
        began = monotonic()
        assert queue_drain.take_one(QUEUE, {TASK}) is None
        # The connection's own limit is 10 s, and a proper close would take as long again.
        assert monotonic() - began < 5

        proxy.set(Mode.PASS)
        assert queue_drain.take_one(QUEUE, {TASK}) == ""
        queue_drain._channel.drop()


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
@pytest.mark.parametrize("error", [ConnectionResetError, KeyboardInterrupt])
def test_what_is_broken_off_leaves_them_for_later(error, broker, monkeypatch):
    publish(broker, 1, 2, 3)
    channel = queue_drain._channel.get()
    get, broken = channel.basic_get, Mock(side_effect=error)
    monkeypatch.setattr(channel, "basic_get", lambda queue: get(queue) and broken())

    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            queue_drain.take_one(QUEUE, {TASK})
    else:
        assert queue_drain.take_all(QUEUE, TASK) is None

    # The broker notices the end of the connection a moment later.
    found: list[int] = []
    until = monotonic() + 10
    while len(found) < 3 and monotonic() < until:
        found += left(broker)
    assert sorted(found) == [1, 2, 3]


def in_an_hour() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat()


@pytest.mark.parametrize("url", EVERY, indirect=True)
@pytest.mark.parametrize(
    "headers",
    [{"task": OTHER}, {"task": None}, {"eta": in_an_hour()}],
    ids=["of another task", "of none", "of later"],
)
def test_a_message_that_is_not_this_task_s_to_take_is_left_to_celery(headers, broker):
    publish(broker, 1, **headers)
    publish(broker, 2)

    # It may come again at once, before the one behind it.
    taken = [queue_drain.take_one(QUEUE, {TASK}) for _ in range(5)]

    assert set(taken) <= {TASK, ""}
    assert 1 in left(broker)


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
def test_one_of_others_does_not_block_those_behind_it(broker):
    publish(broker, 1, 2, task=OTHER)
    publish(broker, 3)

    assert queue_drain.take_one(QUEUE, {TASK}) == TASK

    assert left(broker) == [1, 2]


@pytest.mark.parametrize("url", ["amqp", "redis", "filesystem"], indirect=True)
def test_a_wake_up_of_the_relay_leaves_a_waiting_prune_where_it_is(broker, monkeypatch):
    monkeypatch.setattr(dispatch, "REPORTS_QUEUE", QUEUE)
    wanted = Mock()
    monkeypatch.setattr(threads, "wake_up", wanted)
    publish(broker, 1, 2, task=dispatch.REPORT)
    publish(broker, 3, task="workers.prune")

    tasks.report()

    assert wanted.call_count == 1
    queue_drain._channel.drop()
    assert 3 in left(broker)


@pytest.mark.parametrize("url", EVERY, indirect=True)
def test_what_waits_in_a_queue_is_counted_and_left_there(broker):
    assert queue_drain.count(QUEUE) == 0
    publish(broker, 1, 2, 3)

    assert queue_drain.count(QUEUE) == 3

    assert sorted(left(broker)) == [1, 2, 3]
    assert queue_drain.count("sas.nobody-s") == 0


def test_where_no_broker_answers_nothing_is_counted(monkeypatch):
    monkeypatch.setattr(app, "connection_for_read", lambda: Connection("amqp://127.0.0.1:1//"))

    assert queue_drain.count(QUEUE) is None
