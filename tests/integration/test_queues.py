"""The queues of agents: known to Celery and the stack because an agent names them."""

from collections.abc import Iterator

import pytest
from kombu import Connection

from sasproject.celery import app
from sasproject.stack.roles import Roles
from tests.services import own_rabbitmq_vhost
from workers import scheduler
from workers.celery.pools import warn_of_pool
from workers.celery.queues import AMQP, agent_queues, declared_otherwise
from workers.celery.starting import refuse_broker
from workers.checks import check_queues
from workers.definitions import registry
from workers.definitions.agent import DEFAULT_QUEUE, Agent
from workers.wire import dispatch

ENGINE = {dispatch.SCHEDULER_QUEUE, dispatch.SUPERVISOR_QUEUE, dispatch.REPORTS_QUEUE}


@pytest.fixture
def bulk(monkeypatch) -> type[Agent]:
    """An agent with a queue of its own, known for the time of a test."""

    class Bulk(Agent):
        name = "test.bulk"
        queue = "test.bulk"

    registry.discover()
    monkeypatch.setitem(registry._agents, Bulk.name, Bulk())
    return Bulk


def test_a_worker_without_options_serves_the_queue_of_every_agent(bulk):
    queues = AMQP(app).queues

    assert set(queues.consume_from) == {*ENGINE, DEFAULT_QUEUE, "celery", bulk.queue}
    declared = queues[bulk.queue]
    assert (declared.exchange.name, declared.routing_key) == ("sas", "test.bulk")


def test_celery_uses_these_queues():
    assert isinstance(app.amqp, AMQP)
    assert set(agent_queues()) <= set(app.amqp.queues)


def test_a_queue_that_the_settings_declare_is_left_as_it_is(bulk, settings):
    from kombu import Queue

    by_hand = Queue("test.bulk", queue_arguments={"x-queue-type": "quorum"})

    queues = AMQP(app).Queues([by_hand])

    assert queues["test.bulk"].queue_arguments == {"x-queue-type": "quorum"}


def test_the_stack_s_agents_serve_the_queue_of_every_agent(bulk, tmp_path):
    role = Roles({}, tmp_path).agents()

    assert role.argv[role.argv.index("-Q") + 1] == f"{DEFAULT_QUEUE},{bulk.queue}"


def test_a_wake_up_leaves_for_its_agent_s_own_queue(bulk, wire):
    scheduler.wake({bulk.name})

    assert [message.queue for message in wire.messages] == ["test.bulk"]


@pytest.mark.parametrize("queue", [*sorted(ENGINE), "", None, "amq.mine", "a,b", "a b", "é" * 200])
def test_a_queue_that_is_another_s_or_none_is_refused(bulk, monkeypatch, queue):
    monkeypatch.setattr(bulk, "queue", queue)

    (error,) = check_queues(None)

    assert error.id == "workers.E007"
    assert "test.bulk" in error.msg


@pytest.mark.parametrize("queue", ["sas.agents", "test.bulk", "celery"])
def test_any_other_queue_is_accepted(bulk, monkeypatch, queue):
    monkeypatch.setattr(bulk, "queue", queue)

    assert check_queues(None) == []


def test_a_pool_that_cannot_end_a_late_call_is_named(caplog):
    from celery.concurrency import prefork, solo, thread

    assert warn_of_pool(prefork.TaskPool)
    assert not caplog.records
    for pool in (solo.TaskPool, thread.TaskPool):
        assert not warn_of_pool(pool)
    assert [record.message for record in caplog.records] == ["pool_without_soft_limit"] * 2
    assert "prefork" in caplog.records[0].remedy


def test_every_queue_is_declared_as_a_classic_one_whatever_the_broker_s_default(bulk):
    queues = AMQP(app).queues
    # Named with -Q, and known to nobody before.
    queues.select("test.unheard-of")

    kinds = {name: queue.queue_arguments["x-queue-type"] for name, queue in queues.items()}
    assert {*ENGINE, DEFAULT_QUEUE, "celery", bulk.queue, "test.unheard-of"} <= set(kinds)
    assert set(kinds.values()) == {"classic"}


class Rabbit:
    """A vhost of a test's own, whose queues are quorum queues unless declared otherwise."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = url
        self.connected = 0
        monkeypatch.setattr(app, "connection_for_write", self.connection)

    def connection(self) -> Connection:
        self.connected += 1
        return Connection(self.url, connect_timeout=3)


@pytest.fixture
def rabbit(monkeypatch) -> Iterator[Rabbit]:
    with own_rabbitmq_vhost("--default-queue-type", "quorum") as url:
        yield Rabbit(url, monkeypatch)


def test_a_broker_that_makes_quorum_queues_by_default_serves_a_worker_s_prefetch(rabbit):
    with rabbit.connection() as connection:
        consumer = app.amqp.TaskConsumer(connection.default_channel)
        consumer.qos(prefetch_count=4, apply_global=True)
        # With a quorum queue: 540 NOT_IMPLEMENTED.
        consumer.consume()

    refuse_broker(app, sorted(ENGINE))
    assert rabbit.connected == 2, "one of them the test's own"


def test_a_worker_whose_queue_is_of_another_kind_ends_and_says_which_and_what_to_do(rabbit):
    with rabbit.connection() as connection:
        connection.default_channel.queue_declare("sas.reports", durable=True, auto_delete=False)

    with pytest.raises(SystemExit) as ended:
        refuse_broker(app, ["sas.scheduler", "sas.reports"])

    said = str(ended.value)
    assert said.startswith("The queue sas.reports exists and is not as this code declares it: ")
    assert "x-queue-type" in said
    assert "rabbitmqctl delete_queue sas.reports" in said
    assert "\n" not in said


def test_a_queue_of_an_older_installation_without_a_type_is_taken_as_it_is():
    with own_rabbitmq_vhost() as url, Connection(url) as connection:
        connection.default_channel.queue_declare("sas.reports", durable=True, auto_delete=False)

        assert declared_otherwise(connection, app.amqp.queues["sas.reports"]) is None
        # And the other way round: an older worker beside this one.
        queue = app.amqp.queues["sas.agents"]
        assert declared_otherwise(connection, queue) is None
        connection.default_channel.queue_declare("sas.agents", durable=True, auto_delete=False)


def test_a_broker_that_is_away_is_no_queue_of_another_kind(monkeypatch):
    nobody = Connection("amqp://127.0.0.1:1//", connect_timeout=1)
    monkeypatch.setattr(app, "connection_for_write", lambda: nobody)

    refuse_broker(app, sorted(ENGINE))
