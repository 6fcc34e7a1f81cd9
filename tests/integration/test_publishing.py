"""Messages that are confirmed together, on a real RabbitMQ."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from typing import Any

import pytest
from amqp.exceptions import MessageNacked
from django.test import override_settings
from django.utils.safestring import mark_safe
from kombu import Connection
from kombu.serialization import dumps

from sasproject.celery import app
from tests.services import own_rabbitmq_vhost
from workers import scheduler
from workers.client.submission import submit
from workers.exceptions import BrokerRefused
from workers.models import Step
from workers.store.claims import claim_steps
from workers.testing import Wire
from workers.wire import confirmed, dispatch, publisher
from workers.wire.confirmed import ConfirmedConnection
from workers.wire.installation import HEADER


@pytest.fixture(scope="module")
def vhost() -> Iterator[str]:
    with own_rabbitmq_vhost() as url:
        yield url


@pytest.fixture
def broker(vhost: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    made = app.connection_for_write

    def connect(*args: Any, **options: Any) -> Connection:
        return made(vhost, **options)

    monkeypatch.setattr(app, "connection_for_write", connect)
    # Celery keeps the first pool of producers that it made, of whichever broker.
    monkeypatch.setattr(app.amqp, "_producer_pool", None)
    confirming = ConfirmedConnection(publisher.connect)
    monkeypatch.setattr(publisher, "confirming", lambda: confirming)
    monkeypatch.setattr(publisher, "_has_confirms", lambda: True)
    publisher.refusals.cache_clear()
    with Connection(vhost) as connection:
        yield connection
    confirming.close()
    publisher.refusals.cache_clear()


def publish(*queues: str) -> tuple[list[str | None], dict[str, str]]:
    with publisher.batch() as refused:
        ids = [publisher.publish("toy", [n], queue) for n, queue in enumerate(queues)]
    return ids, told(refused)


def told(refused: dict[str, BrokerRefused]) -> dict[str, str]:
    return {message_id: str(refusal) for message_id, refusal in refused.items()}


def publish_until_it_breaks(queue: str) -> None:
    """The first write on a dead connection may still go through."""
    for _ in range(9):
        publisher.publish("toy", [], queue)


def waiting(broker: Connection, queue: str) -> int:
    channel = broker.channel()
    return channel.queue_declare(queue, passive=True).message_count


def test_all_of_a_batch_arrive_and_none_is_refused(broker: Connection) -> None:
    ids, refused = publish("sas.one", "sas.one", "sas.two")

    assert (len(set(ids)), refused) == (3, {})
    assert (waiting(broker, "sas.one"), waiting(broker, "sas.two")) == (2, 1)
    assert publisher.current() is None


def test_what_has_no_queue_is_told_and_the_others_arrive(broker: Connection) -> None:
    publish("sas.three", "sas.four")
    broker.channel().queue_delete("sas.four")

    ids, refused = publish("sas.three", "sas.four", "sas.three")

    assert refused == {ids[1]: "there is no queue sas.four"}
    assert waiting(broker, "sas.three") == 3


def test_what_one_batch_was_refused_is_not_forgotten_for_the_next(broker: Connection) -> None:
    """Whoever sent it reads it after the block, while another thread may begin one."""
    publish("sas.ten")
    broker.channel().queue_delete("sas.ten")
    with publisher.batch() as refused:
        one = publisher.publish("toy", [], "sas.ten")
    with publisher.batch() as others:
        pass

    assert list(refused) == [one]
    assert others == {}


def test_a_batch_inside_another_is_refused_and_the_first_goes_on(broker: Connection) -> None:
    with publisher.batch() as refused:
        with pytest.raises(RuntimeError, match="must begin outside"), publisher.batch():
            pass
        publisher.publish("toy", [], "sas.nested")

    assert (refused, waiting(broker, "sas.nested")) == ({}, 1)


def test_a_queue_is_declared_again_over_a_new_connection(broker: Connection) -> None:
    publish("sas.five")
    broker.channel().queue_delete("sas.five")
    publisher.confirming().close()

    _, refused = publish("sas.five")

    assert (refused, waiting(broker, "sas.five")) == ({}, 1)


@pytest.mark.parametrize("is_batch", [True, False], ids=["in a batch", "alone"])
def test_a_message_is_a_task_as_celery_has_it(broker: Connection, is_batch: bool) -> None:
    with publisher.batch() if is_batch else nullcontext():
        publisher.publish("toy", [{"n": 1}], "sas.as_a_task", soft_time_limit=30, time_limit=40)

    message = broker.SimpleQueue("sas.as_a_task").get_nowait()
    message.ack()
    args, kwargs, _ = message.payload
    wanted = {"lang": "py", "task": "toy", "timelimit": [40, 30], "ignore_result": True}
    wanted |= {"argsrepr": "", "kwargsrepr": "", "id": message.properties["correlation_id"]}
    assert (args, kwargs) == ([{"n": 1}], {})
    assert wanted.items() <= message.headers.items()
    assert message.properties["delivery_mode"] == 2


def test_a_message_says_whose_it_is_unless_its_headers_do(
    broker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "own_id", lambda: "ours")
    publisher.publish("toy", [], "sas.whose")
    publisher.publish("toy", [], "sas.whose", headers={HEADER: "theirs"})
    monkeypatch.setattr(publisher, "own_id", lambda: None)
    publisher.publish("toy", [], "sas.whose")
    queue = broker.SimpleQueue("sas.whose")
    whose = []
    for _ in range(3):
        message = queue.get_nowait()
        message.ack()
        whose.append(message.headers.get(HEADER))
    assert whose == ["ours", "theirs", None]


class Colour(StrEnum):
    RED = "red"


BODIES: dict[str, Any] = {
    "a request": [{"amount": "18.50", "n": 2**70, "of": [1.5, 1e22, None, True], "ä": "zwölf 📦"}],
    "control characters": ['a"b\\c\x01\x7f\u2028'],
    "names that are no text": [{1: "one", 1.5: "more", Colour.RED: Colour.RED}],
    "what only kombu knows": [{None: mark_safe("<b>"), True: 1}],
    "half a character": ["\ud800"],
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_arrives_as_kombu_would_have_written_it(broker: Connection, body: list[Any]) -> None:
    publisher.publish("toy", body, "sas.bodies")

    message = broker.SimpleQueue("sas.bodies").get_nowait()
    message.ack()
    content = (message.content_type, message.content_encoding)
    assert content == ("application/json", "utf-8")
    assert message.payload[0] == json.loads(dumps(body, "json")[2])


@pytest.mark.parametrize("name", BODIES)
def test_what_msgspec_knows_is_written_by_it(name: str) -> None:
    is_known = name not in ("what only kombu knows", "half a character")

    assert isinstance(publisher._encoded(BODIES[name]), bytes) == is_known


def test_a_refusal_by_a_full_queue_is_one_whether_celery_repeats_it_or_not(
    broker: Connection,
) -> None:
    assert issubclass(MessageNacked, publisher.refusals())


def test_what_was_not_confirmed_when_the_connection_broke_is_refused(broker: Connection) -> None:
    with publisher.batch() as refused:
        first = publisher.publish("toy", [], "sas.broken")
        publisher.confirming()._connection.connection.transport.sock.shutdown(socket.SHUT_RDWR)
        with pytest.raises(BrokerRefused):
            publish_until_it_breaks("sas.broken")
        # Nothing more is tried in this batch.
        with pytest.raises(BrokerRefused, match="the connection broke"):
            publisher.publish("toy", [], "sas.broken")

    # The next message reads what has come by then: it may have been confirmed just in time.
    assert first in refused or waiting(broker, "sas.broken") == 1
    ids, refused = publish("sas.broken")
    assert (len(ids), refused) == (1, {})


def test_a_broker_that_does_not_answer_is_waited_for_no_longer_than_set(
    broker: Connection, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    publish("sas.six")
    settings.SAS_REPLY_SECONDS = 0.5

    def silence(*args: Any, timeout: float, **options: Any) -> None:
        assert timeout <= 0.5
        raise TimeoutError("nothing came")

    monkeypatch.setattr(publisher.confirming()._connection, "drain_events", silence)
    ids, refused = publish("sas.six")

    assert refused == {ids[0]: "TimeoutError: nothing came"}
    assert publisher.confirming()._producer is None


def test_connection_idle_for_long_is_replaced_before_publishing(
    broker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish("sas.seven")
    first = publisher.confirming()._connection
    publish("sas.seven")
    assert publisher.confirming()._connection is first

    monkeypatch.setattr(confirmed, "FRESH_SECONDS", -1.0)
    publish("sas.seven")

    assert publisher.confirming()._connection is not first
    assert waiting(broker, "sas.seven") == 3


@pytest.mark.django_db
@override_settings(SAS_BUNDLE_LIMIT=1)
def test_claims_of_a_refused_message_are_handed_back_and_count_nothing(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        submit("toy_line", subject=f"Toy {n}", input={})
    taken = claim_steps.claim_due({"toy.alpha"}, "scheduler")
    ids = iter(["first", "second", "third"])

    @contextmanager
    def batch() -> Iterator[dict[str, BrokerRefused]]:
        refused: dict[str, BrokerRefused] = {}
        yield refused
        refused["second"] = BrokerRefused("there is no queue sas.agents", "no_queue")

    monkeypatch.setattr(publisher, "batch", batch)
    monkeypatch.setattr(dispatch, "_send", lambda *args, **options: next(ids))

    assert (len(taken), scheduler.send(taken)) == (3, 2)

    states = Step.objects.filter(name="one").order_by("id").values_list("state", "failure_count")
    assert list(states) == [("processing", 0), ("pending", 0), ("processing", 0)]
