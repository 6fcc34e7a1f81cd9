"""A system whose processes may do little: `docs/how-to/limit-what-processes-may-do.md`, tried."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import amqp
import psycopg
import pytest

from tests import programs, roles
from tests.acceptance.backends import backends
from tests.acceptance.system import System
from tests.programs import until
from tests.queue_door.sending import channel, publish

pytestmark = pytest.mark.slow
USERS = {"shop-worker": "one", "shop-web": "two", "shop-consumer": "three", "acme": "four"}
WORKER = ("-m", "celery", "-A", "sasproject", "worker", "--without-mingle", "--without-gossip")
ALERTS = """
from workers.models import Alert
print(*Alert.objects.values_list("code", flat=True))
"""
VISIT = """
from datetime import UTC, datetime
from django.contrib.sessions.models import Session
at = datetime(2000, 1, 1, tzinfo=UTC)
Session.objects.create(session_key="over", session_data="", expire_date=at)
"""
VISITS = """
from django.contrib.sessions.models import Session
print(Session.objects.filter(session_key="over").count())
"""
REPLIES = "replies.acme.one"


class Limited:
    """A system each of whose processes has a login of its own; names are unique on the servers."""

    def __init__(self, system: System, mark: str) -> None:
        self.system, self.mark = system, mark
        self.owner = system.environment["DATABASE_URL"]
        self.broker = system.environment["BROKER_URL"]

    def database(self, role: str) -> str:
        parts = urlsplit(self.owner)
        return f"postgres://{role}_{self.mark}:any@{parts.hostname}:{parts.port}{parts.path}"

    def login(self, user: str) -> str:
        parts = urlsplit(self.broker)
        place = f"{parts.hostname}:{parts.port}{parts.path}"
        return f"amqp://{user}-{self.mark}:{USERS[user]}@{place}"

    def be(self, role: str, user: str) -> None:
        """Let what is started next have these logins."""
        self.system.environment |= {
            "DATABASE_URL": self.database(role),
            "BROKER_URL": self.login(user),
        }

    def start(self) -> None:
        system = self.system
        self.be("shop_worker", "shop-worker")
        system.start("scheduler", *WORKER, "-c", "1", "-n", "scheduler@%h", "-X", "sas.agents")
        system.start("agents", *WORKER, "-c", "2", "-n", "agents@%h", "-Q", "sas.agents")
        self.be("shop_beat", "shop-web")
        system.start("beat", "-m", "celery", "-A", "sasproject", "beat")
        self.be("shop_consumer", "shop-consumer")
        system.start("consumer", "manage.py", "consume_submissions")
        until(lambda: "consuming" in system.log("consumer"), 30)


def rabbitmqctl(*words: str) -> None:
    programs.rabbitmqctl(*words)


@contextmanager
def database_roles(url: str, mark: str) -> Iterator[None]:
    """Say the page's SQL, with roles of the test's own."""
    with psycopg.connect(url.replace("postgres://", "postgresql://"), autocommit=True) as owner:
        for block in roles.statements("sql"):
            owner.execute(roles.named(block, mark))
        try:
            yield
        finally:
            for role in roles.ROLES:
                owner.execute(f"DROP OWNED BY {role}_{mark}")
                owner.execute(f"DROP ROLE {role}_{mark}")


@contextmanager
def broker_users(url: str, mark: str) -> Iterator[None]:
    """Run the page's commands, with users of the test's own, in its vhost."""
    vhost = urlsplit(url).path.lstrip("/")
    (block,) = roles.statements("sh")
    made = []
    try:
        for line in block.strip().splitlines():
            words = [word.strip("'") for word in line.split()][1:]
            if words[0] == "add_vhost":
                continue
            place = 3 if words[0] == "set_permissions" else 1
            words[place] = f"{words[place]}-{mark}"
            words = [vhost if word == "shop" else word for word in words]
            rabbitmqctl(*words)
            if words[0] == "add_user":
                made.append(words[1])
        yield
    finally:
        for user in made:
            rabbitmqctl("delete_user", user)


@pytest.fixture
def limited(tmp_path) -> Iterator[Limited]:
    mark = uuid.uuid4().hex[:8]
    with (
        backends("postgresql+rabbitmq", tmp_path) as urls,
        System(tmp_path, **urls, SAS_LOG_LEVEL="INFO", CELERY_REMOTE_CONTROL="off") as system,
    ):
        system.manage("migrate", "-v", "0")
        system.manage("seed_demo")
        with database_roles(urls["DATABASE_URL"], mark), broker_users(urls["BROKER_URL"], mark):
            yield Limited(system, mark)
            for name in list(system.processes):
                system.kill(name)


def test_an_order_goes_through_a_system_whose_processes_may_do_little(limited):
    system = limited.system
    # The reply queue is the till's, whose name the token proves; the login is another name.
    token = system.manage("client", "add", "acme").split()[-1]
    system.sandbox()
    limited.start()

    limited.be("shop_web", "shop-web")
    system.place(1)
    with channel(limited.login("acme")) as to:
        to.queue_declare(REPLIES, durable=True, auto_delete=False)
        publish(to, "key-1", token, exchange="orders.submissions", reply_to=REPLIES)
        publish(to, "key-2", token, exchange="orders.submissions", reply_to=REPLIES, body=b"{")
        until(lambda: system.states()["states"] == {"processed": 2}, 90)
        told = []
        until(lambda: _take(to, told) and "processed" in told[-1], 30)

    assert any("submission.refused" in message for message in told)
    # The second message is a dead letter, and a slow machine may be late with a sweep; anything
    # else is a right that is missing.
    assert set(system.python(ALERTS).split()) <= {"dead_letters_open", "duty_overdue"}
    system.python(VISIT)
    limited.be("shop_worker", "shop-worker")
    system.python(
        "from workers.operate import retention; assert retention.prune(seconds=None) is not None"
    )
    limited.be("shop_web", "shop-web")
    assert system.python(VISITS).split()[-1] == "0"
    for name in system.processes:
        log = (system.folder / f"{name}.log").read_text()
        assert "ermission denied" not in log, name
        assert "ACCESS_REFUSED" not in log, name
        assert "access_refused" not in log.lower(), name
    _refused_at_the_broker(limited)


def _take(to: amqp.Channel, told: list[str]) -> bool:
    while (message := to.basic_get(REPLIES, no_ack=True)) is not None:
        body = message.body
        told.append(body if isinstance(body, str) else bytes(body).decode())
    return bool(told)


def _refused_at_the_broker(limited: Limited) -> None:
    for user, exchange, queue in (
        ("acme", "", "sas.agents"),
        ("acme", "sas", "sas.agents"),
        ("acme", "", "orders.submissions"),
        ("shop-web", "orders.submissions", ""),
        ("shop-consumer", "celery", "celery"),
    ):
        with pytest.raises(amqp.AccessRefused), channel(limited.login(user)) as to:
            to.basic_publish(amqp.Message(b"{}"), exchange, queue, confirm_timeout=5)
    for user, queue in (
        ("acme", "orders.submissions"),
        ("acme", "replies.other.one"),
        ("shop-web", "sas.agents"),
        ("shop-consumer", "sas.agents"),
        ("shop-worker", "orders.submissions"),
    ):
        with pytest.raises(amqp.AccessRefused), channel(limited.login(user)) as to:
            to.basic_get(queue)
