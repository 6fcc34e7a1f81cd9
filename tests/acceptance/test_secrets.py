"""No secret is in the logs of a whole run, whatever goes wrong in it."""

import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests import programs
from tests.acceptance.backends import backends
from tests.acceptance.system import System
from tests.programs import until
from tests.queue_door.sending import BODY, channel, publish

pytestmark = pytest.mark.slow

SECRETS = """
import json
from orders.models import ApiClient, Order
from workers import tokens
order = Order.objects.latest("number")
print(json.dumps({
    "callback": tokens.make(order.process.steps.first().idempotency_key),
    "order": order.secret,
    "webhook": ApiClient.objects.get().webhook_secret.removeprefix("whsec_"),
}))
"""


@pytest.fixture
def system(tmp_path) -> Iterator[System]:
    mark = uuid.uuid4().hex
    with backends("postgresql+rabbitmq", tmp_path) as urls:
        broker, database = urlsplit(urls["BROKER_URL"]), urlsplit(urls["DATABASE_URL"])
        user = f"leak-{mark[:8]}"
        vhost = broker.path.lstrip("/")
        for words in (
            ["add_user", user, f"broker-{mark}"],
            ["set_permissions", "-p", vhost, user, ".*", ".*", ".*"],
        ):
            programs.rabbitmqctl(*words)
        with System(
            tmp_path,
            DATABASE_URL=f"postgres://postgres:database-{mark}@{database.netloc.split('@')[-1]}"
            f"{database.path}",
            BROKER_URL=f"amqp://{user}:broker-{mark}@{broker.netloc.split('@')[-1]}{broker.path}",
            DJANGO_SECRET_KEY=f"django-{mark}-{'0123456789' * 5}",
            SAS_LOG_LEVEL="INFO",
        ) as system:
            system.manage("migrate", "-v", "0")
            system.manage("seed_demo")
            yield system
        programs.rabbitmqctl("delete_user", user)


def test_no_secret_is_in_the_logs_of_a_whole_run(system):
    token = system.manage("client", "add", "acme").split()[-1]
    system.sandbox()
    system.start("worker", "-m", "celery", "-A", "sasproject", "worker", "-c", "2")
    system.start("beat", "-m", "celery", "-A", "sasproject", "beat")
    system.start("consumer", "manage.py", "consume_submissions")
    system.start("web", "-m", "gunicorn", "sasproject.wsgi", "--bind", "127.0.0.1:0")
    web = system.folder / "web.log"
    until(lambda: "Listening at: " in web.read_text() and "consuming" in system.log("consumer"), 40)
    url = web.read_text().split("Listening at: ")[1].split(" ")[0]

    # Orders by both doors, told to a webhook that nobody listens at.
    body = {**BODY, "callback_url": "http://127.0.0.1:9/told?key=webhook-of-acme"}
    assert ask(f"{url}/api/v1/orders", token, body) == 201
    with channel(system.environment["BROKER_URL"]) as to:
        publish(to, "key-1", token)
        # What is wrong is where reasons are logged.
        publish(to, "key-2", token, body=b"{")
        publish(to, "key-3", f"{token}x")
    until(lambda: system.states()["states"] == {"processed": 2}, 90)
    known = json.loads(system.python(SECRETS))
    for path, given, status in (
        ("/api/v1/orders", {"customer": 1}, 422),
        (f"/api/v1/callbacks/{known['callback']}", {"result": {}, "progress": {}}, 422),
        (f"/api/v1/callbacks/{known['callback']}x", {"result": {}}, 404),
        (f"/orders/{known['order']}/nowhere/", {}, 404),
    ):
        assert ask(url + path, token, given) == status
    assert ask(f"{url}/api/v1/orders", f"{token}x", body) == 401
    # A database and a broker that are away: their errors name who could not log in.
    for name, value in (("DATABASE_URL", "127.0.0.1:1"), ("BROKER_URL", "127.0.0.1:1")):
        good = system.environment[name]
        host = urlsplit(good).netloc.split("@")[-1]
        system.environment[name] = good.replace(host, value)
        system.start(f"doctor-{name}", "manage.py", "sas", "doctor")
        system.processes[f"doctor-{name}"].wait(120)
        system.environment[name] = good

    logs = {path.name: path.read_text() for path in system.folder.glob("*.log")}
    assert "database does not answer" in logs["doctor-DATABASE_URL.log"]
    assert "does not answer" in logs["doctor-BROKER_URL.log"]
    assert "/api/v1/callbacks/***" in logs["web.log"]
    secrets = {
        **known,
        "token": token.rpartition("_")[2],
        "webhook URL": "webhook-of-acme",
        **{
            name: urlsplit(system.environment[name]).password or ""
            for name in ("DATABASE_URL", "BROKER_URL")
        },
        "DJANGO_SECRET_KEY": system.environment["DJANGO_SECRET_KEY"],
    }
    assert all(len(secret) > 10 for secret in secrets.values())
    found = [
        (log, name) for log, text in logs.items() for name, one in secrets.items() if one in text
    ]
    assert found == []


def ask(url: str, token: str, body: object) -> int:
    """Send JSON as a client; return the status of the answer."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Idempotency-Key": uuid.uuid4().hex,
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        return refusal.code
