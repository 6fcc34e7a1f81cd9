"""Two installations on one broker: no message is worked on by the other, and both are named."""

import logging
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from celery.app.trace import build_tracer
from celery.exceptions import Reject
from django.core.management import call_command
from kombu import Connection

from sasproject.celery import app
from tests.alerts import text_of
from tests.services import own_rabbitmq_vhost
from workers import tasks
from workers.celery import hooks
from workers.celery.own_tasks import OwnTask
from workers.definitions import discovery
from workers.exceptions import BrokerRefused
from workers.models import Alert, Installation, Journal
from workers.ops.doctor import broker as probes
from workers.ops.doctor.finding import Level
from workers.store import installation as rows
from workers.wire import dispatch, installation, neighbours, publisher, queue_drain

OURS, THEIRS = str(uuid4()), str(uuid4())


@pytest.fixture(autouse=True)
def known(monkeypatch) -> None:
    """Have this process know its id, and nothing of neighbours yet."""
    monkeypatch.setattr(installation._cached, "id", OURS)
    monkeypatch.setattr(installation._cached, "read_again_at", float("inf"))
    monkeypatch.setattr(neighbours, "_owners", neighbours._Owners())
    monkeypatch.setattr("workers.wire.neighbours.time.sleep", lambda seconds: None)


@pytest.fixture
def sent(monkeypatch) -> list[tuple[str, str, dict[str, Any]]]:
    """Note what is published: task, queue and headers."""
    found: list[tuple[str, str, dict[str, Any]]] = []

    def publish(name: str, body: list[Any], to: Any, **options: Any) -> None:
        found.append((name, getattr(to, "name", to), options["headers"]))

    monkeypatch.setattr(publisher, "publish", publish)
    return found


def deliver(name: str, args: list[Any], **headers: Any) -> Any:
    """Run a task of the engine as a worker's child does when a message is delivered."""
    task = app.tasks[name]
    request = {
        "id": str(uuid4()),
        "task": name,
        "delivery_info": {"routing_key": dispatch.SCHEDULER_QUEUE},
        "timelimit": [40, 30],
        **headers,
    }
    return build_tracer(name, task, app=app)(request["id"], args, {}, request)


def test_every_task_of_the_engine_asks_whose_its_message_is():
    discovery.import_modules("tasks")
    engine = [name for name in app.tasks if name.startswith("workers.")]
    assert len(engine) >= 8
    assert [name for name in engine if not isinstance(app.tasks[name], OwnTask)] == []


def test_a_foreign_message_is_not_worked_on_and_goes_back_for_its_owner(sent, monkeypatch):
    worked: list[object] = []
    logged: list[str] = []
    monkeypatch.setattr(neighbours.log, "warning", lambda event, **_: logged.append(event))
    monkeypatch.setattr(tasks.scheduler, "advance", lambda: worked.append(None))

    for hops in range(3):
        deliver(dispatch.ADVANCE, [], sas_installation=THEIRS, sas_hops=hops)

    assert (worked, Journal.objects.count()) == ([], 0)
    assert sent == [
        (
            dispatch.ADVANCE,
            dispatch.SCHEDULER_QUEUE,
            {"sas_installation": THEIRS, "sas_hops": hops + 1},
        )
        for hops in range(3)
    ]
    # Told once: in the log, and to operators.
    assert logged.count("foreign_message") == 1
    (alert,) = Alert.objects.all()
    assert (alert.cause, alert.times) == (f"foreign_messages:{THEIRS}", 1)
    assert THEIRS in text_of(alert)


def test_what_its_owner_does_not_take_is_set_aside(sent):
    deliver(dispatch.ADVANCE, [], sas_installation=THEIRS, sas_hops=neighbours.MOST_HOPS)
    # Nobody waits for that owner again in vain.
    deliver(dispatch.ADVANCE, [], sas_installation=THEIRS)
    # Another one is waited for.
    deliver(dispatch.ADVANCE, [], sas_installation=str(uuid4()))
    queues = [queue for _task, queue, _headers in sent]
    assert queues == [neighbours.STRANGERS] * 2 + [dispatch.SCHEDULER_QUEUE]


def test_the_rests_of_a_message_are_shorter_than_an_answer_may_take():
    rests = [neighbours.rest_seconds(hops) for hops in range(neighbours.MOST_HOPS)]
    assert rests == sorted(rests)
    assert 5 < sum(rests) < 10


def test_a_broker_that_takes_nothing_keeps_the_foreign_message(monkeypatch):
    def refuse(*args: object, **options: object) -> None:
        raise BrokerRefused("full")

    monkeypatch.setattr(publisher, "publish", refuse)
    task = app.tasks[dispatch.ADVANCE]
    task.push_request(
        sas_installation=THEIRS, delivery_info={"routing_key": dispatch.SCHEDULER_QUEUE}
    )
    try:
        with pytest.raises(Reject) as rejected:
            task()
    finally:
        task.pop_request()
    assert rejected.value.requeue


@pytest.mark.parametrize("headers", [{}, {"sas_installation": OURS}, {"sas_installation": ""}])
def test_our_own_messages_and_those_of_older_code_are_worked_on(headers, sent, monkeypatch):
    worked: list[object] = []
    monkeypatch.setattr(tasks.threads, "wake_up", lambda: worked.append(None))
    monkeypatch.setattr(queue_drain, "take_all", lambda queue, task: False)
    deliver(dispatch.REPORT, [], **headers)
    assert (len(worked), sent) == (1, [])


def test_without_an_id_of_its_own_nothing_is_foreign(monkeypatch):
    monkeypatch.setattr(installation._cached, "id", None)
    assert neighbours.foreign_sender({"sas_installation": THEIRS}) is None


def test_a_drained_queue_leaves_foreign_messages_to_celery():
    class Message:
        headers = {"task": dispatch.TAKE, "sas_installation": THEIRS}

    assert not queue_drain._is_of(Message(), (dispatch.TAKE,))  # type: ignore[arg-type]
    Message.headers = {"task": dispatch.TAKE, "sas_installation": OURS}
    assert queue_drain._is_of(Message(), (dispatch.TAKE,))  # type: ignore[arg-type]


def test_migrate_makes_one_row_and_keeps_it():
    (row,) = Installation.objects.all()
    call_command("migrate", verbosity=0)
    assert rows.ensure() is False
    assert Installation.objects.get() == row
    assert rows.own_id() == row.id


class TestOwnId:
    @pytest.fixture(autouse=True)
    def asked(self, monkeypatch) -> list[None]:
        asked: list[None] = []

        def read() -> str:
            asked.append(None)
            return THEIRS

        monkeypatch.setattr(installation, "_read", read)
        installation.forget()
        return asked

    def test_the_database_is_asked_once_a_minute(self, asked, monkeypatch):
        clock = [100.0]
        monkeypatch.setattr("workers.wire.installation.time.monotonic", lambda: clock[0])
        assert [installation.own_id() for _ in range(3)] == [THEIRS] * 3
        assert len(asked) == 1
        clock[0] += installation.FRESH_SECONDS
        assert installation.own_id() == THEIRS
        assert len(asked) == 2

    def test_while_it_is_away_the_last_answer_holds(self, monkeypatch):
        clock = [100.0]
        monkeypatch.setattr("workers.wire.installation.time.monotonic", lambda: clock[0])
        assert installation.own_id() == THEIRS
        monkeypatch.setattr(installation, "_read", lambda: None)
        clock[0] += 2 * installation.FRESH_SECONDS
        assert installation.own_id() == THEIRS


@pytest.mark.django_db(transaction=True)
def test_installation_id_is_not_read_inside_a_transaction():
    from django.db import transaction

    assert installation._read() == str(Installation.objects.get().id)
    with transaction.atomic():
        assert installation._read() is None


@pytest.fixture(scope="module", params=["rabbitmq", "memory"])
def url(request) -> Iterator[str]:
    if request.param == "memory":
        with Connection("memory://") as connection:
            # Other tests of this process have left cards there.
            connection.channel().queue_delete(installation.CARDS_QUEUE)
        yield "memory://"
        return
    with own_rabbitmq_vhost() as url:
        yield url


def test_each_installation_reads_the_cards_of_the_others(url, monkeypatch):
    with Connection(url) as connection:
        assert installation.exchange(connection, 1000) == []
        # One card of each, however often it is left.
        assert installation.exchange(connection, 1010) == []
        monkeypatch.setattr(installation._cached, "id", THEIRS)
        (ours,) = installation.exchange(connection, 1020)
        assert (ours.installation, ours.at) == (OURS, 1010)
        assert ours.database
        monkeypatch.setattr(installation._cached, "id", OURS)
        assert [card.installation for card in installation.exchange(connection, 1030)] == [THEIRS]
        # An installation that has gone is forgotten.
        assert installation.exchange(connection, 1021 + installation.CARD_SECONDS) == []
        assert installation.exchange(connection, 1022 + installation.CARD_SECONDS) == []


def test_what_is_no_card_is_thrown_away(url):
    with Connection(url) as connection:
        installation.exchange(connection, 5000)
        connection.Producer().publish({"a": 1}, routing_key=installation.CARDS_QUEUE)
        assert installation.exchange(connection, 5001) == []


def test_doctor_and_a_worker_s_start_name_the_other(monkeypatch, caplog):
    theirs = installation.Card(THEIRS, "staging", "db.example.org", 1.0)
    monkeypatch.setattr(installation, "exchange", lambda connection: [theirs])
    (found,) = probes.is_ours_alone.__wrapped__(None)  # type: ignore[attr-defined]
    assert found.level == Level.ERROR
    assert THEIRS in found.what
    assert "staging" in found.what

    monkeypatch.setattr(installation, "exchange_now", lambda: [theirs])
    with caplog.at_level(logging.ERROR):
        hooks.name_neighbours(None)
    (record,) = caplog.records
    assert (record.message, vars(record)["installation"]) == ("neighbour", THEIRS)


def test_a_worker_starts_without_knowing_its_neighbours(monkeypatch, caplog):
    def fail() -> None:
        raise OSError("no broker")

    monkeypatch.setattr(installation, "exchange_now", fail)
    hooks.name_neighbours(None)
    assert [record.levelname for record in caplog.records] == []
