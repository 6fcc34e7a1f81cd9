"""The consumer, the database, the connection die on a real RabbitMQ: no order is lost or twice."""

import signal
import time
from urllib.parse import urlsplit

import psycopg
import pytest

from tests import programs
from tests.programs import until
from tests.queue_door.sending import QUEUE, channel, publish

pytestmark = pytest.mark.slow
#: A consumer that dies as by kill -9 when it is about to acknowledge, the first time.
DIE_BEFORE_ACK = """
import os, signal
from django.core.management import call_command
from orders.consumer.inbox import Inbox
Inbox.ack = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
call_command("consume_submissions")
"""
sqlite_is_enough = pytest.mark.parametrize("door", ["sqlite+rabbitmq"], indirect=True)


@pytest.mark.fault("F5")
def test_killed_between_commit_and_acknowledgement(door):
    door.system.start("dying", "manage.py", "shell", "-v", "0", "-c", DIE_BEFORE_ACK)
    log = door.system.folder / "dying.log"
    until(lambda: f"consuming {QUEUE}\n" in log.read_text(), 20)
    with channel(door.url) as to:
        publish(to, "once", door.token)
        assert door.system.processes.pop("dying").wait(20) == -signal.SIGKILL
        assert door.look()["orders"] == ["once"]
        door.system.start("dying", "manage.py", "shell", "-v", "0", "-c", DIE_BEFORE_ACK)
        assert door.system.processes.pop("dying").wait(20) == -signal.SIGKILL
        publish(to, "wrong", door.token, body=b"{")
        door.start()
        door.when_handled(2)
        until(lambda: to.queue_declare(QUEUE, passive=True).message_count == 0, 10)
        found = door.look()
    assert found["orders"] == ["once"]
    assert "submission_repeated" in door.log()


@sqlite_is_enough
def test_a_dead_letter_whose_acknowledgement_was_lost_is_kept_once(door):
    for _ in range(2):
        door.system.start("dying", "manage.py", "shell", "-v", "0", "-c", DIE_BEFORE_ACK)
        log = door.system.folder / "dying.log"
        until(lambda: f"consuming {QUEUE}\n" in log.read_text(), 20)  # noqa: B023
        if not _:
            with channel(door.url) as to:
                publish(to, "wrong", door.token, body=b"{")
        assert door.system.processes.pop("dying").wait(20) == -signal.SIGKILL
    door.start()
    with channel(door.url) as to:
        publish(to, "last", door.token)
        found = door.when_handled(2)
    assert [one["message_id"] for one in found["letters"]] == ["wrong"]


@pytest.mark.fault("F14")
def test_two_hundred_in_order_although_the_connection_breaks(door):
    keys = [f"key-{n:03}" for n in range(200)]
    with channel(door.url) as to:
        # Whoever comes before the consumer's first start makes the queue.
        to.queue_declare(QUEUE, durable=True, auto_delete=False)
        for key in keys:
            publish(to, key, door.token)
    door.start()
    until(lambda: len(door.look()["orders"]) >= 20, 30)
    _close_connections(door.url)
    found = door.when_handled(200, 60)
    assert found["orders"] == keys
    assert found["letters"] == []
    assert "broker_lost" in door.log()


def _close_connections(url: str) -> None:
    """Have the broker end every connection of a vhost, as an operator of it would."""
    vhost = urlsplit(url).path[1:].lstrip("/")
    words = ["rabbitmqctl", "-q", "close_all_connections", "--vhost", vhost, "a test"]
    programs.run(*words, seconds=60, check=True)


@sqlite_is_enough
def test_it_stops_at_once_and_cleanly(door):
    door.start()
    with channel(door.url) as to:
        for n in range(50):
            publish(to, f"k{n}", door.token)
    process = door.system.processes.pop("consumer")
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert time.monotonic() - began < 5
    assert "Traceback" not in door.log()
    door.start()
    found = door.when_handled(50)
    assert found["orders"] == [f"k{n}" for n in range(50)]
    door.system.kill("consumer", signal.SIGINT)


@pytest.mark.fault("F14")
@sqlite_is_enough
def test_consumer_takes_existing_queue_and_recreates_deleted_queue(door):
    with channel(door.url) as to:
        to.queue_declare(QUEUE, durable=True, auto_delete=False,
                         arguments={"x-queue-type": "quorum"})  # fmt: skip
        door.start()
        publish(to, "quorum", door.token)
        door.when_handled(1)
        to.queue_delete(QUEUE)
        until(lambda: door.log().count(f"consuming {QUEUE}\n") == 2, 20)
        publish(to, "classic", door.token)
        publish(to, "by-exchange", door.token, exchange=QUEUE)
        assert door.when_handled(3)["orders"] == ["quorum", "classic", "by-exchange"]


@pytest.mark.fault("F16")
@pytest.mark.parametrize("door", ["postgresql+rabbitmq"], indirect=True)
def test_a_database_that_is_away_costs_time_and_nothing_else(door):
    door.start()
    url = door.system.environment["DATABASE_URL"]
    name = url.rsplit("/", 1)[1]
    with channel(door.url) as to, psycopg.connect(_admin(url), autocommit=True) as admin:
        publish(to, "before", door.token)
        door.when_handled(1)
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        for n in range(30):
            publish(to, f"during-{n:02}", door.token)
        publish(to, "wrong", door.token, body=b"{")
        until(lambda: door.log().count("database_away") >= 3, 30)
        assert door.system.processes["consumer"].poll() is None
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        found = door.when_handled(32)
        assert to.queue_declare(QUEUE, passive=True).message_count == 0
    assert found["orders"] == ["before", *(f"during-{n:02}" for n in range(30))]
    assert [one["message_id"] for one in found["letters"]] == ["wrong"]
    assert "broker_lost" not in door.log()


def _admin(url: str) -> str:
    return url.replace("postgres://", "postgresql://").rsplit("/", 1)[0] + "/postgres"
