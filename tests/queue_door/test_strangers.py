"""Clients that know nothing of Celery or kombu, on a real RabbitMQ, and both doors at once."""

import json
import re
import shlex
import threading
import urllib.request
import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit

import amqp
import pytest

from tests import programs
from tests.programs import ROOT, until
from tests.queue_door.sending import BODY, QUEUE, channel, publish

pytestmark = pytest.mark.slow
sqlite_is_enough = pytest.mark.parametrize("door", ["sqlite+rabbitmq"], indirect=True)


def test_fifty_twins_at_both_doors_are_one_order(door):
    door.start()
    system = door.system
    system.start("web", "-m", "gunicorn", "sasproject.wsgi", "--bind", "127.0.0.1:0")
    web = system.folder / "web.log"
    until(lambda: "Listening at: " in web.read_text(), 20)
    url = web.read_text().split("Listening at: ")[1].split(" ")[0]
    begin = threading.Barrier(50)
    statuses: list[int] = []

    def by_http() -> None:
        headers = {"Authorization": f"Bearer {door.token}", "Idempotency-Key": "twin"}
        headers["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{url}/api/v1/orders", json.dumps(BODY).encode(), headers)
        begin.wait(30)
        with urllib.request.urlopen(request, timeout=30) as answer:
            statuses.append(answer.status)

    def by_queue() -> None:
        with channel(door.url) as to:
            begin.wait(30)
            publish(to, "twin", door.token)

    threads = [threading.Thread(target=by_http) for _ in range(25)]
    threads += [threading.Thread(target=by_queue) for _ in range(25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with channel(door.url) as to:
        publish(to, "after", door.token)
    found = door.when_handled(2)
    assert sorted(found["orders"]) == ["after", "twin"]
    assert found["letters"] == []
    assert len(statuses) == 25
    assert set(statuses) <= {200, 201}
    # Each of the queue's is told of in the log, as new or as one that was there.
    assert door.log().count('"message_id": "twin"') == 25
    assert statuses.count(201) + door.log().count('"event": "submission_accepted"') == 2


@pytest.fixture
def login(door) -> Iterator[str]:
    """A login of the broker for the client, confined as the how-to says; yields its URL."""
    parts = urlsplit(door.url)
    vhost, name = parts.path[1:].lstrip("/"), f"acme-{uuid.uuid4().hex[:8]}"
    page = (ROOT / "docs" / "how-to" / "submit-by-queue.md").read_text()
    rights = re.search(r"set_permissions acme (.*)", page)
    assert rights is not None
    _rabbitmqctl("add_user", name, "secret")
    _rabbitmqctl("set_permissions", "-p", vhost, name, *shlex.split(rights[1]))
    yield f"amqp://{name}:secret@{parts.hostname}:{parts.port or 5672}/{parts.path[1:]}"
    _rabbitmqctl("delete_user", name)


def _rabbitmqctl(*words: str) -> None:
    programs.rabbitmqctl(*words)


@sqlite_is_enough
def test_a_confined_login_reaches_the_queue_and_nothing_else(door, login):
    name = urlsplit(login).username or ""
    door.system.manage("client", "add", name)
    door.system.environment["SUBMISSIONS_TRUST_USER_ID"] = "true"
    door.start()
    with channel(login) as to:
        publish(to, "by-login", headers={}, exchange=QUEUE, user_id=name)
        publish(to, "by-token", door.token, exchange=QUEUE)
        publish(to, "nameless", headers={}, exchange=QUEUE)
        to.queue_declare("replies.acme.mine", durable=True, auto_delete=False)
    for forbidden in (
        lambda to: publish(to, "default", door.token),
        lambda to: publish(to, "as-guest", headers={}, exchange=QUEUE, user_id="guest"),
        lambda to: to.queue_declare("sas.spy"),
        lambda to: to.basic_get(QUEUE),
    ):
        with pytest.raises(amqp.exceptions.ChannelError), channel(login) as to:
            forbidden(to)
    found = door.when_handled(3)
    assert found["orders"] == ["by-login", "by-token"]
    assert [one["message_id"] for one in found["letters"]] == ["nameless"]


@sqlite_is_enough
def test_a_consumer_that_may_only_read_takes_orders_without_the_exchange(door, login):
    parts = urlsplit(login)
    vhost, name = parts.path[1:].lstrip("/"), parts.username or ""
    _rabbitmqctl("set_permissions", "-p", vhost, name, "^$", r"^amq\.default$", f"^{QUEUE}$")
    with channel(door.url) as to:
        to.queue_declare(QUEUE, durable=True, auto_delete=False)
        door.system.environment["BROKER_URL"] = login
        door.start()
        publish(to, "one", door.token)
        assert door.when_handled(1)["orders"] == ["one"]
    assert "exchange_not_made" in door.log()
    assert "broker_lost" not in door.log()


@pytest.mark.smoke
@sqlite_is_enough
def test_the_client_of_the_how_to_works(door, monkeypatch):
    page = (ROOT / "docs" / "how-to" / "submit-by-queue.md").read_text()
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.setenv("AMQP_URL", door.url)
    monkeypatch.setenv("ACME_TOKEN", door.token)
    door.start()
    exec(compile(source, "submit-by-queue.md", "exec"), {})
    assert len(door.when_handled(1)["orders"]) == 1
