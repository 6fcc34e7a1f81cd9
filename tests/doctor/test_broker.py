"""What the doctor says of brokers: real ones with rooms of the tests' own, and stand-ins."""

from collections.abc import Iterable, Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from celery import current_app
from kombu import Connection, Producer

from tests import programs
from tests.services import own_rabbitmq_vhost, own_redis_database
from workers.conf import sas
from workers.ops import doctor
from workers.ops.doctor import Finding, Need, broker, connecting, queues
from workers.ops.doctor import worker_pools as workers
from workers.ops.doctor.registry import Probe, probes
from workers.wire.dispatch import SCHEDULER_QUEUE


def said(found: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(str(one.level), one.what) for one in found]


def bad(found: Iterable[Finding]) -> list[str]:
    return [one.what for one in found if str(one.level) in ("warning", "error")]


class Broker:
    """A broker that the Celery app is pointed to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, url: str, options: Any = None) -> None:
        self.url = url
        for name in ("connection_for_write", "connection_for_read"):
            monkeypatch.setattr(current_app, name, self.connection)
        # Celery keeps the first pool it made: its broker may be gone since.
        monkeypatch.setattr(current_app.amqp, "_producer_pool", None)
        self._options = options or {}

    def connection(self, **options: Any) -> Connection:
        return Connection(self.url, transport_options=self._options, **options)


@pytest.fixture
def rabbit(monkeypatch) -> Iterator[Broker]:
    with own_rabbitmq_vhost() as url:
        yield Broker(monkeypatch, url, {"confirm_publish": True})


@pytest.fixture
def redis(monkeypatch) -> Iterator[Broker]:
    with own_redis_database() as url:
        yield Broker(monkeypatch, url)


@pytest.fixture
def nobody(monkeypatch) -> Broker:
    return Broker(monkeypatch, "amqp://shop:hunter2@127.0.0.1:1/shop")


def declare(broker: Broker) -> None:
    with broker.connection() as connection:
        for queue in current_app.amqp.queues.values():
            queue(connection.default_channel).declare()
        connection.default_channel.queue_declare("orders.submissions", durable=True)


def test_a_broker_that_is_away_is_told_of_once_and_without_its_password(nobody):
    (found,) = broker.answers()

    assert str(found.level) == "error"
    assert found.what.startswith("the broker amqp://shop:**@127.0.0.1:1/shop does not answer: ")
    assert said(broker.confirms_messages()) == said(broker.redis_keeps_messages()) == []
    assert said(queues.are_read()) == said(workers.answer()) == []


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("filesystem://", "filesystem://"),
        ("memory://", "memory://"),
        ("redis://h:1/2", "redis://h:1/2"),
        ("redis://:hunter2@h:1/2", "redis://:***@h:1/2"),
        ("redis+socket:///run/broker.sock", "redis+socket:///run/broker.sock"),
        ("amqp://shop@mq:1/shop", "amqp://shop@mq:1/shop"),
        ("amqp://shop:hunter2@mq:1/shop", "amqp://shop:***@mq:1/shop"),
    ],
)
def test_broker_finding_masks_password_in_url(
    given: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise connecting.Unreachable("refused")

    Broker(monkeypatch, given)
    monkeypatch.setattr(broker, "connected", away)
    (told,) = doctor.examine([Probe("broker", "answers", broker.answers, Need.NOTHING)])
    assert told.finding.what == f"the broker {shown} does not answer: refused"


def test_rabbitmq_answers_and_confirms(rabbit):
    ((level, what),) = said(broker.answers())

    assert (level, what.split()[0]) == ("ok", "RabbitMQ")
    assert said(broker.confirms_messages()) == [
        ("ok", "the broker takes, confirms and delivers a message")
    ]
    assert "redis_keeps_messages" not in {one.name for one in probes()}
    assert _queues_of(rabbit) == []


def _queues_of(rabbit: Broker) -> list[str]:
    vhost = rabbit.url.rsplit("/", 1)[1]
    command = ["rabbitmqctl", "-q", "list_queues", "-p", vhost, "name", "--no-table-headers"]
    return programs.run(*command, check=True).stdout.split()


def test_a_login_that_may_make_no_such_queue_is_no_error(rabbit):
    vhost = rabbit.url.rsplit("/", 1)[1]
    programs.rabbitmqctl("set_permissions", "-p", vhost, "guest", "^$", ".*", ".*")

    assert [level for level, _ in said(broker.confirms_messages())] == ["info"]


def test_a_message_that_a_policy_drops_is_told_of(rabbit):
    vhost = rabbit.url.rsplit("/", 1)[1]
    policy = '{"message-ttl": 0}'
    programs.rabbitmqctl("set_policy", "-p", vhost, "drop", "^sas", policy)

    assert said(broker.confirms_messages()) == [
        ("error", "a message the broker confirmed is not in its queue")
    ]


def test_a_queue_of_another_kind_is_told_of_with_its_remedy(rabbit):
    with rabbit.connection() as connection:
        connection.default_channel.queue_declare(
            SCHEDULER_QUEUE, durable=True, auto_delete=False, arguments={"x-queue-type": "quorum"}
        )
    before = _queues_of(rabbit)

    (found,) = [one for one in queues.are_read() if "not as this code" in one.what]

    assert str(found.level) == "error"
    assert SCHEDULER_QUEUE in found.what
    assert "x-queue-type" in found.what
    assert f"rabbitmqctl delete_queue {SCHEDULER_QUEUE}" in found.remedy
    # Looking made no queue.
    assert _queues_of(rabbit) == before


def test_queues_that_are_missing_unread_and_read(rabbit):
    missing = bad(queues.are_read())
    assert "there is no queue sas.agents" in missing
    # An application may do without its own: that is no fault where nobody ever wanted it.
    assert ("info", "there is no queue orders.submissions") in said(queues.are_read())
    assert "there is no queue celery" not in missing

    declare(rabbit)
    assert f"the queue {SCHEDULER_QUEUE} has no consumer" in bad(queues.are_read())

    with rabbit.connection() as connection:
        channel = connection.channel()
        for name in [*current_app.amqp.queues, "orders.submissions"]:
            channel.basic_consume(name, callback=lambda message: None)
        assert bad(queues.are_read()) == []
        assert said(queues.are_read())[0][1].endswith("queues have consumers")


def test_an_installation_without_orders_by_queue_is_in_order(rabbit):
    with rabbit.connection() as connection:
        channel = connection.channel()
        for queue in current_app.amqp.queues.values():
            queue(channel).declare()
            channel.basic_consume(queue.name, callback=lambda message: None)

        found = said(queues.are_read())

    assert [level for level, _ in found] == ["info", "ok", "info"]
    assert found[1][1] == "4 queues have consumers"


def test_a_queue_of_an_application_s_own_must_be_read_once_something_waits(rabbit):
    def levels() -> list[str]:
        found = said(queues.are_read())
        return [level for level, what in found if f"the queue {name} has " in what]

    name = "orders.submissions"
    declare(rabbit)
    assert levels() == ["warning"]
    with rabbit.connection() as connection, connection.Producer() as producer:
        producer.publish({}, exchange="", routing_key=name, confirm_timeout=3)
    assert levels() == ["error"]
    with rabbit.connection() as connection:
        connection.channel().basic_consume(name, callback=lambda message: None)
        assert levels() == []


def test_doctor_reports_queue_with_too_many_waiting_messages(rabbit, monkeypatch):
    declare(rabbit)
    monkeypatch.setattr(queues, "MANY_MESSAGES", 1)
    with rabbit.connection() as connection:
        channel = connection.channel()
        for name in [*current_app.amqp.queues, "orders.submissions"]:
            channel.basic_qos(0, 1, False)
            channel.basic_consume(name, callback=lambda message: None)
        with connection.Producer() as producer:
            for _ in range(3):
                producer.publish({}, exchange="", routing_key=SCHEDULER_QUEUE, confirm_timeout=3)
        assert bad(queues.are_read()) == [f"2 messages wait in {SCHEDULER_QUEUE}"]


def test_redis_and_what_else_lies_in_its_database(redis):
    told = [one.what for one in broker.redis_keeps_messages()]
    assert told[0].split()[0] in ("Redis", "Valkey")
    assert not any("another application" in what for what in told)

    with redis.connection() as connection:
        client = connection.default_channel.client
        client.lpush("sas.agents\x06\x163", "a message of ours")
        client.set("shop:cache:1", "x")
    found = bad(broker.redis_keeps_messages())
    assert any("such as 'shop:cache:1'" in what for what in found)
    assert bad(queues.are_read()) == []


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"maxmemory_policy": "noeviction", "aof_enabled": 1}, []),
        (
            {"maxmemory_policy": "allkeys-lru", "aof_enabled": 1},
            ["Redis evicts by allkeys-lru when its memory is full"],
        ),
        ({"aof_enabled": 0}, ["Redis writes no append-only file"]),
    ],
)
def test_what_redis_may_lose(facts, found):
    assert bad(broker._redis_findings(facts)) == found


@pytest.mark.parametrize(
    ("version", "level"), [("3.7.28", "warning"), ("3.10.8", None), ("4.3.0-rc.1", None)]
)
def test_an_old_rabbitmq(version, level):
    facts = {"product": "RabbitMQ", "version": version}
    transport = type("Transport", (), {"driver_type": "amqp"})
    connection = type(
        "Connection",
        (),
        {"transport": transport, "connection": type("Amqp", (), {"server_properties": facts})},
    )

    levels = [str(one.level) for one in broker._server_findings(connection)]

    assert levels == (["ok", level] if level else ["ok"])


def test_a_connection_is_closed_whatever_happens(rabbit):
    with pytest.raises(RuntimeError), connecting.connected() as connection:
        raise RuntimeError
    assert not connection.connected


PREFORK = {"implementation": "celery.concurrency.prefork:TaskPool", "max-concurrency": 4}
SOLO = {"implementation": "celery.concurrency.solo:TaskPool", "max-concurrency": 1}


@pytest.mark.parametrize(
    ("stats", "served", "found"),
    [
        ({}, {}, [("warning", "no worker answers")]),
        (
            {"agents@a": {"pool": PREFORK}, "scheduler@a": {"pool": PREFORK}},
            {"agents@a": [{"name": "sas.agents"}], "scheduler@a": [{"name": "sas.reports"}]},
            [("ok", "2 workers answer; 4 processes serve agents")],
        ),
        (
            {"agents@a": {"pool": {**PREFORK, "max-concurrency": 16}}},
            {"agents@a": [{"name": "sas.agents"}]},
            [("ok", "1 worker answers; 16 processes serve agents")],
        ),
        (
            {"a@a": {"pool": SOLO}},
            {"a@a": [{"name": "sas.agents"}]},
            [
                ("warning", "a@a has the pool celery.concurrency.solo"),
                ("ok", "1 worker answers; 1 process serves agents"),
            ],
        ),
    ],
    ids=["none", "good", "more than slots", "solo"],
)
def test_workers_that_answer(redis, monkeypatch, stats, served, found):
    class Inspect:
        def __init__(self, **options: Any) -> None: ...

        def stats(self) -> dict[str, Any]:
            return stats

        def active_queues(self) -> dict[str, Any]:
            return served

    monkeypatch.setattr(current_app.control, "inspect", Inspect)
    monkeypatch.setitem(current_app.conf.changes, "worker_enable_remote_control", True)

    assert said(workers.answer()) == found


def test_workers_that_run_in_another_mode_are_not_called_missing(rabbit, monkeypatch):
    monkeypatch.setattr(workers, "ANSWER_SECONDS", 0.1)
    monkeypatch.setitem(current_app.conf.changes, "worker_enable_remote_control", True)
    declare(rabbit)
    assert bad(workers.answer()) == ["no worker answers"]

    with rabbit.connection() as connection:
        connection.channel().basic_consume("sas.scheduler", callback=lambda message: None)
        assert [level for level, _ in said(workers.answer())] == ["info"]


def test_workers_are_not_asked_where_they_would_not_answer(redis, monkeypatch):
    monkeypatch.setitem(current_app.conf.changes, "worker_enable_remote_control", False)

    (found,) = workers.answer()
    assert found.level == "info"
    assert found.why.startswith("Remote control is off outside DEBUG, since anyone who can write")


class _InAlarm:
    """RabbitMQ that says so once a message comes, and reads nothing more."""

    def __init__(self) -> None:
        self.connection = Mock()
        self.transport = Mock(driver_type="amqp")
        self.collect = Mock()
        self.release = Mock()
        self.connect = Mock()

    def block(self, *_: object) -> None:
        self.connection.on_blocked("low on memory")
        raise TimeoutError("timed out")


def test_an_alarm_is_named_and_not_waited_for(monkeypatch):
    connection = _InAlarm()

    def blocked(given: Any) -> None:
        given.connection.on_blocked("low on memory")
        raise TimeoutError("timed out")

    monkeypatch.setattr(broker, "_echo", blocked)
    (found,) = broker.confirms_messages.__wrapped__(connection)  # type: ignore[attr-defined]
    assert found.level == "error"
    assert found.what == "the broker is in alarm and takes no message: low on memory"
    # Closing it properly would hang until the alarm is over.
    connection.collect.assert_called_once_with()


@pytest.mark.parametrize("is_in_alarm", [True, False])
def test_one_probe_alone_tells_of_an_alarm(is_in_alarm, monkeypatch):
    """The others would say that they are at fault."""
    connection = _InAlarm()

    def exchange(given: Any) -> None:
        if is_in_alarm:
            connection.block()
        raise TimeoutError("timed out")

    monkeypatch.setattr(current_app, "connection_for_write", lambda **_: connection)
    monkeypatch.setattr(broker.installation, "exchange", exchange)
    if is_in_alarm:
        assert broker.is_ours_alone() == []
    else:
        with pytest.raises(TimeoutError):
            broker.is_ours_alone()
    # Closing it properly would hang until the alarm is over.
    connection.collect.assert_called_once_with()


def test_a_card_waits_for_its_confirmation_as_long_as_a_reply(rabbit):
    sent: list[Any] = []
    real = Producer.publish

    def publish(self: Any, *args: Any, **given: Any) -> Any:
        sent.append(given.get("confirm_timeout"))
        return real(self, *args, **given)

    with pytest.MonkeyPatch.context() as patch, rabbit.connection() as connection:
        patch.setattr(Producer, "publish", publish)
        patch.setattr(broker.installation, "own_id", lambda: "an-id")
        broker.installation.exchange(connection)
    assert sent == [sas.reply_seconds]


def test_a_refusal_without_an_alarm_is_told_as_one(monkeypatch):
    def refuse(given: Mock) -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr(broker, "_echo", refuse)
    (found,) = broker.confirms_messages.__wrapped__(_InAlarm())  # type: ignore[attr-defined]
    assert found.what == "the broker took no message: TimeoutError: timed out"
