"""Tasks as they are published, on a real RabbitMQ."""

from collections.abc import Iterator
from typing import Any

import pytest
from amqp.exceptions import MessageNacked
from kombu import Connection

from sasproject.celery import app
from workers.wire import publisher
from workers.wire.installation import HEADER


@pytest.fixture
def broker(vhost, monkeypatch) -> Iterator[Connection]:
    made = app.connection_for_write

    def connect(*args: Any, **options: Any) -> Connection:
        return made(vhost, **options)

    monkeypatch.setattr(app, "connection_for_write", connect)
    # Celery keeps the first pool of producers that it made, of whichever broker.
    monkeypatch.setattr(app.amqp, "_producer_pool", None)
    publisher.refusals.cache_clear()
    with Connection(vhost) as connection:
        yield connection
    publisher.refusals.cache_clear()


def test_a_message_is_a_task_as_celery_has_it(broker):
    publisher.publish("toy", [{"n": 1}], "sas.as_a_task", soft_time_limit=30, time_limit=40)

    message = broker.SimpleQueue("sas.as_a_task").get_nowait()
    message.ack()
    args, kwargs, _ = message.payload
    wanted = {"lang": "py", "task": "toy", "timelimit": [40, 30], "ignore_result": True}
    wanted |= {"argsrepr": "", "kwargsrepr": "", "id": message.properties["correlation_id"]}
    assert (args, kwargs) == ([{"n": 1}], {})
    assert wanted.items() <= message.headers.items()
    assert message.properties["delivery_mode"] == 2


def test_a_message_says_whose_it_is_unless_its_headers_do(broker, monkeypatch):
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


def test_a_refusal_by_a_full_queue_is_one_whether_celery_repeats_it_or_not(broker):
    assert issubclass(MessageNacked, publisher.refusals())
