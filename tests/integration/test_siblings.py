"""What waits behind a message in its queue is taken along, on a real RabbitMQ and elsewhere."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
from amqp import Channel, spec
from kombu import Connection, Exchange, Queue
from kombu.transport.virtual.base import BrokerState

from sasproject import brokers
from sasproject.celery import app
from tests.chaos.proxy import Mode, Proxy
from tests.services import own_rabbitmq_vhost, own_redis_database
from workers import tasks
from workers.celery import filesystem_transport
from workers.notify import threads
from workers.wire import dispatch, queue_drain
from workers.wire.queue_drain import waiting as waiting_of

QUEUE = "sas.siblings"
TASK = "test.own"
OTHER = "test.other"
waiting = partial(waiting_of, task=TASK)


@pytest.fixture(scope="module")
def vhost() -> Iterator[str]:
    with own_rabbitmq_vhost() as url:
        yield url


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    with own_redis_database() as url:
        yield url


EVERY = ["amqp", "redis", "filesystem", "memory"]


# The filesystem's messages of one millisecond come in any order.
@pytest.fixture(params=["amqp", "redis", "memory"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param in ("memory", "filesystem"):
        return f"{request.param}://"
    return str(request.getfixturevalue({"amqp": "vhost", "redis": "redis"}[request.param]))


@pytest.fixture
def broker(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
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


@pytest.mark.parametrize(
    ("limit", "taken"), [(1, [1]), (2, [1, 2]), (4, [1, 2, 3, 4]), (9, [1, 2, 3, 4, 5])]
)
def test_as_many_as_wait_are_taken_in_their_order_and_no_more(
    limit: int, taken: list[int], broker: Connection
) -> None:
    publish(broker, 1, 2, 3, 4, 5)

    with waiting(QUEUE, limit=limit) as take:
        assert [number for (number,) in take()] == taken

    queue_drain._channel.drop()
    assert left(broker) == [1, 2, 3, 4, 5][len(taken) :]


def test_where_nothing_waits_nothing_is_taken(broker: Connection) -> None:
    with waiting(QUEUE, limit=9) as take:
        found = take()
        assert found == []


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
def test_drained_messages_are_redelivered_when_their_work_fails(broker: Connection) -> None:
    publish(broker, 1, 2, 3)

    def fail() -> None:
        with waiting(QUEUE, limit=9) as take:
            found = take()
            assert len(found) == 3
            raise ValueError("what?")

    with pytest.raises(ValueError, match="what"):
        fail()

    with waiting(QUEUE, limit=9) as take:
        found = take()
        assert sorted(number for (number,) in found) == [1, 2, 3]


def test_one_block_after_another_takes_what_came_meanwhile(broker: Connection) -> None:
    for numbers in ([1], [2, 3], [4, 5, 6]):
        publish(broker, *numbers)
        with waiting(QUEUE, limit=9) as take:
            found = take()
            assert [number for (number,) in found] == numbers
    queue_drain._channel.drop()
    assert left(broker) == []


def test_what_comes_while_the_block_works_is_taken_and_acknowledged_with_the_rest(
    broker: Connection,
) -> None:
    with waiting(QUEUE, limit=4) as take:
        assert take() == []
        publish(broker, 1, 2)
        assert [number for (number,) in take()] == [1, 2]
        publish(broker, 3, 4, 5)
        # No more than four in all.
        assert [number for (number,) in take()] == [3, 4]
        assert take() == []

    queue_drain._channel.drop()
    assert left(broker) == [5]


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
def test_what_was_taken_before_the_broker_went_away_comes_again(
    broker: Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    publish(broker, 1)
    with waiting(QUEUE, limit=9) as take:
        assert [number for (number,) in take()] == [1]
        with monkeypatch.context() as patch:
            patch.setattr(queue_drain._channel.get(), "basic_get", Mock(side_effect=OSError))
            assert take() == []
        # Nothing is acknowledged of what went with the channel.
    assert "drained_unacknowledged" not in [record.message for record in caplog.records]

    with waiting(QUEUE, limit=9) as take:
        assert [number for (number,) in take()] == [1]


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
def test_drain_skips_message_that_another_consumer_took_first(
    broker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(broker, 1, 2, 3)
    real = queue_drain._get_at_once

    def after_another(channel: Channel, queue: str, count: int) -> list[Any]:
        assert count == 2
        other: Any = broker.channel()
        other.basic_ack(other.basic_get(queue).delivery_tag)
        return real(channel, queue, count)

    monkeypatch.setattr(queue_drain, "_get_at_once", after_another)

    with waiting(QUEUE, limit=3) as take:
        found = take()
        assert [number for (number,) in found] == [1, 3]


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
def test_all_that_wait_are_asked_for_before_the_first_has_come(
    broker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(broker, *range(40))
    said: list[str] = []
    send, wait = Channel.send_method, Channel.wait

    def sent(self: Channel, method: Any, *words: Any, **options: Any) -> Any:
        said.append({spec.Basic.Get: "get", spec.Basic.Ack: "ack"}.get(method, ""))
        return send(self, method, *words, **options)

    def waited(self: Channel, method: Any, *words: Any, **options: Any) -> Any:
        said.append("wait" if spec.Basic.GetOk in method else "")
        return wait(self, method, *words, **options)

    queue_drain._channel.get()
    monkeypatch.setattr(Channel, "send_method", sent)
    monkeypatch.setattr(Channel, "wait", waited)

    with waiting(QUEUE, limit=30) as take:
        found = take()
        assert len(found) == 30

    # The first tells how many there are; one word acknowledges all of them.
    assert said == ["get", "wait", *["get"] * 29, *["wait"] * 29, "ack"]


def test_a_broker_that_hangs_holds_up_a_look_no_longer_than_a_reply(
    vhost: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
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
        assert queue_drain.take_one(QUEUE, {}) is False

        proxy.set(Mode.BLACK_HOLE)
        began = monotonic()
        assert queue_drain.take_one(QUEUE, {}) is None
        # The connection's own limit is 10 s, and a proper close would take as long again.
        assert monotonic() - began < 5

        proxy.set(Mode.PASS)
        assert queue_drain.take_one(QUEUE, {}) is False
        queue_drain._channel.drop()


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
def test_a_broker_that_goes_away_meanwhile_leaves_them_for_later(
    broker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(broker, 1, 2, 3)
    channel = queue_drain._channel.get()
    get, broken = channel.basic_get, Mock(side_effect=ConnectionResetError)
    monkeypatch.setattr(channel, "basic_get", lambda queue: get(queue) and broken())

    with waiting(QUEUE, limit=9) as take:
        found = take()
        assert found == []

    with waiting(QUEUE, limit=9) as take:
        found = take()
        assert sorted(number for (number,) in found) == [1, 2, 3]


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
def test_who_is_interrupted_while_it_asks_acknowledges_none_with_its_next(
    broker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(broker, 1, 2, 3)
    with monkeypatch.context() as patch:
        patch.setattr(queue_drain, "_get_at_once", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt), waiting(QUEUE, limit=3) as take:
            take()

    with waiting(QUEUE, limit=1) as take:
        found = take()
        assert [number for (number,) in found] == [1]

    queue_drain._channel.drop()
    assert left(broker) == [2, 3]


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
def test_one_thread_s_word_acknowledges_nothing_that_another_works_on(broker: Connection) -> None:
    publish(broker, 1, 2)

    def in_another() -> list[int]:
        with waiting(QUEUE, limit=1) as take:
            return [number for (number,) in take()]

    with ThreadPoolExecutor(1) as other:
        with waiting(QUEUE, limit=1) as take:
            found = take()
            assert [number for (number,) in found] == [1]
            assert other.submit(in_another).result() == [2]
            # As if this one had died over it.
            queue_drain._channel.drop()
        other.submit(queue_drain._channel.drop).result()

    queue_drain._channel.drop()
    assert left(broker) == [1]


def in_an_hour() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat()


@pytest.mark.parametrize("url", EVERY, indirect=True)
@pytest.mark.parametrize(
    "headers",
    [{"task": OTHER}, {"task": None}, {"eta": in_an_hour()}],
    ids=["of another task", "of none", "of later"],
)
def test_a_message_that_is_not_this_task_s_to_take_is_left_to_celery(
    headers: dict[str, Any], broker: Connection
) -> None:
    publish(broker, 1)
    publish(broker, 2, **headers)
    publish(broker, 3)

    with waiting(QUEUE, limit=9) as take:
        taken = [number for (number,) in take()]
        # It is back already, and no other task waits for this block to end.
        back = left(broker)
        assert take() == []

    queue_drain._channel.drop()
    assert 2 in back
    # What was asked for together with it may be taken, too; each is taken once.
    assert sorted([*taken, *back, *left(broker)]) == [1, 2, 3]


@pytest.mark.parametrize("url", EVERY, indirect=True)
def test_one_of_another_task_is_asked_for_once_however_often_a_block_asks(
    broker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(broker, 1, task=OTHER)
    channel = queue_drain._channel.get()
    asked, get = Mock(), channel.basic_get
    monkeypatch.setattr(channel, "basic_get", lambda queue: asked(queue) and get(queue))

    with waiting(QUEUE, limit=9) as take:
        for _ in range(5):
            assert take() == []

    assert asked.call_count == 1
    queue_drain._channel.drop()
    assert left(broker) == [1]


@pytest.mark.parametrize("url", ["amqp"], indirect=True)
def test_a_message_of_another_task_survives_one_that_fails(broker: Connection) -> None:
    publish(broker, 1, 2)
    publish(broker, 3, task=OTHER)

    def fail() -> None:
        with waiting(QUEUE, limit=9) as take:
            assert [number for (number,) in take()] == [1, 2]
            raise ValueError("what?")

    with pytest.raises(ValueError, match="what"):
        fail()

    assert sorted(left(broker)) == [1, 2, 3]


@pytest.mark.parametrize("url", ["amqp", "redis", "filesystem"], indirect=True)
def test_a_wake_up_of_the_relay_leaves_a_waiting_prune_where_it_is(
    broker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_what_waits_in_a_queue_is_counted_and_left_there(broker: Connection) -> None:
    assert queue_drain.count(QUEUE) == 0
    publish(broker, 1, 2, 3)

    assert queue_drain.count(QUEUE) == 3

    assert sorted(left(broker)) == [1, 2, 3]
    assert queue_drain.count("sas.nobody-s") == 0


def test_where_no_broker_answers_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "connection_for_read", lambda: Connection("amqp://127.0.0.1:1//"))

    assert queue_drain.count(QUEUE) is None
