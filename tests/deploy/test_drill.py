"""A drill of operations: deploy by the units, upgrade, roll back, and restore a backup.

The processes are those of ``deploy/systemd``, on what goes into the image, with ``.env.example``
and the defaults that ship.
"""

import http.client
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests import programs
from tests.acceptance.ledgers import effects
from tests.acceptance.system import System, set_faults
from tests.deploy.image import ROOT, copy_image
from tests.programs import until
from tests.services import POSTGRES, own_postgres_database, own_rabbitmq_vhost

pytestmark = pytest.mark.slow
BIN = Path(sys.executable).parent
UNITS = ROOT / "deploy/systemd"
#: Seconds that a unit has to end, `TimeoutStopSec`.
GRACE = 30
LATENCY = 1
NEW_VERSION = """
from dataclasses import replace

from orders.workflows.fulfilment import FULFILMENT
from workers import register_workflow

NEXT = register_workflow(replace(FULFILMENT, version=3))
"""
VERSIONS = """
import json
from django.db.models import Count
from workers.models import Process
rows = Process.objects.filter(finished_at=None).values_list("version").annotate(n=Count("id"))
print(json.dumps(dict(rows)))
"""
OPEN_ALERTS = """
from workers.models import Alert
print(*sorted(set(Alert.objects.filter(resolved_at=None).values_list("code", flat=True))))
"""
ATTEMPTS = """
from workers.models import Step
print(Step.objects.filter(failure_count__gt=0).count())
"""
NEWEST = """
from workers.models import Journal
print(Journal.objects.order_by("-at").values_list("at", flat=True)[0].isoformat())
"""


def unit_commands(port: int) -> dict[str, list[str]]:
    """Return the command of each unit that the target wants, in the order of a deployment."""
    (line,) = re.findall(r"^Wants=(.*)$", (UNITS / "shop.target").read_text(), re.MULTILINE)
    commands = {}
    for unit in line.split():
        text = (UNITS / re.sub(r"@\d", "@", unit)).read_text()
        (command,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
        command = command.replace("/srv/shop/.venv/bin", str(BIN)).replace("8000", str(port))
        commands[unit.removesuffix(".service")] = shlex.split(command)
    order = ("scheduler", "agents", "beat", "consumer", "web")
    return dict(
        sorted(commands.items(), key=lambda item: order.index(re.split("[-@]", item[0])[1]))
    )


class Shop:
    """The deployed shop, and a client that orders from it."""

    def __init__(self, system: System) -> None:
        self.system = system
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.commands = unit_commands(self.port)
        self.token = ""
        #: The keys of orders that were accepted, in order.
        self.keys: list[str] = []

    def prepare(self, release: Path) -> None:
        """Do what comes before the processes of a release."""
        self.system.root = release
        self.system.environment["DJANGO_STATIC_ROOT"] = str(release / "static")
        self.system.manage("migrate", "-v", "0")
        self.system.manage("collectstatic", "--no-input", "-v", "0")

    def start(self) -> None:
        for name in self.commands:
            self._start(name)
        until(lambda: self.status("/readyz") == 200, 30)

    def roll(self, release: Path) -> None:
        """Replace each process by one of another release, half of each kind at a time."""
        self.prepare(release)
        later = {name for name in self.commands if name.endswith("@2")}
        for names in (self.commands.keys() - later - {"shop-web"}, later, {"shop-web"}):
            for name in names:
                self.system.processes[name].send_signal(signal.SIGTERM)
            for name in names:
                self.system.processes.pop(name).wait(GRACE)
                self._start(name)
            until(partial(self.are_alive, names), 30)

    def _start(self, name: str) -> None:
        alive = self.system.folder / f"{name}.alive"
        alive.unlink(missing_ok=True)
        words = [str(word) for word in self.commands[name]]
        environment = {**self.system.environment, "SAS_ALIVE_FILE": str(alive)}
        log = (self.system.folder / f"{name}.log").open("ab")
        self.system.processes[name] = subprocess.Popen(
            words, cwd=self.system.root, env=environment, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        log.close()

    def are_alive(self, names: Iterable[str]) -> bool:
        return all(map(self.is_alive, names))

    def is_alive(self, name: str) -> bool:
        """Ask as the units' and manifests' probes do."""
        if name == "shop-web":
            return self.status("/livez") == 200 and self.status("/readyz") == 200
        role = re.split("[-@]", name)[1]
        role = "worker" if role in {"scheduler", "agents"} else role
        environment = {
            **self.system.environment,
            "SAS_ALIVE_FILE": str(self.system.folder / f"{name}.alive"),
        }
        words = [sys.executable, "-m", "workers.alive", role]
        done = subprocess.run(
            words, cwd=self.system.root, env=environment, capture_output=True, check=False
        )
        return done.returncode == 0

    def status(self, path: str) -> int:
        """Ask as kubelet does: by address, in plain http."""
        return self._ask("GET", path)

    def submit(self, key: str) -> bool:
        """Send an order as a client behind the proxy; False: it has to be sent again."""
        body = {
            "customer": {"name": "Ann", "email": "ann@example.org", "address": "Street 1"},
            "lines": [{"sku": "SKU-001", "quantity": 1}],
        }
        headers = {
            "Host": "shop.example.org", "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "203.0.113.7", "Content-Type": "application/json",
            "Authorization": f"Bearer {self.token}", "Idempotency-Key": key,
        }  # fmt: skip
        status = self._ask("POST", "/api/v1/orders", json.dumps(body), headers)
        assert status in {0, 200, 201, 503}, status
        return status in {200, 201}

    def _ask(self, method: str, path: str, body: str | None = None, headers: Any = None) -> int:
        """Return the status of an answer; 0: there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, body, headers or {})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    @contextmanager
    def orders_coming(self) -> Iterator[None]:
        """Have two orders a second come in during a block, each until it is accepted."""
        ended = threading.Event()

        def come() -> None:
            key = uuid.uuid4().hex
            while not ended.wait(0.5):
                if self.submit(key):
                    self.keys.append(key)
                    key = uuid.uuid4().hex

        thread = threading.Thread(target=come)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(30)

    def open_versions(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.system.python(VERSIONS))
        return found

    def end_all(self) -> None:
        """Wait until every order has ended well, those of lost answers included."""
        until(lambda: self.system.states()["states"].keys() == {"processed"}, 120)
        assert self.system.states()["states"]["processed"] >= len(self.keys)


def example_environment() -> dict[str, str]:
    text = (ROOT / ".env.example").read_text()
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


@pytest.fixture
def shop(tmp_path) -> Iterator[Shop]:
    """The shop, not started yet, with products and a client; `check --deploy` has passed."""
    example = example_environment()
    with own_postgres_database() as database, own_rabbitmq_vhost() as broker:
        given = {**example, "DJANGO_DEBUG": "off", "DATABASE_URL": database, "BROKER_URL": broker}
        # What tests set to be quick is as it ships again: empty is the default.
        quick = ("STEP_TIMEOUT_SECONDS", "BACKOFF_CAP_SECONDS")
        given |= {"DJANGO_LOOPBACK_ONLY": "", **{f"SAS_{name}": "" for name in quick}}
        with System(tmp_path, **given) as system:
            shop = Shop(system)
            release = tmp_path / "old"
            copy_image(release)
            shop.prepare(release)
            system.manage("check", "--deploy", "--fail-level", "WARNING")
            system.manage("seed_demo", "--no-users")
            # Mails to a folder, and services on this machine.
            system.environment["EMAIL_URL"] = ""
            url = system.sandbox()
            for service in ("payment", "shipping", "billing"):
                set_faults(url, service, latency_seconds=LATENCY)
            shop.token = system.manage("client", "add", "drill").splitlines()[-1]
            yield shop


def test_an_upgrade_is_rolled_back_with_orders_in_flight_and_nothing_is_lost(shop, tmp_path):
    system, old, new = shop.system, tmp_path / "old", tmp_path / "new"
    copy_image(new)
    (new / "orders/workflows/next.py").write_text(NEW_VERSION)
    with (new / "orders/workflows/__init__.py").open("a") as module:
        module.write("\nfrom orders.workflows import next  # noqa\n")
    shop.start()
    until(partial(shop.are_alive, shop.commands), 30)

    with shop.orders_coming():
        until(lambda: system.states()["states"].get("processed", 0) >= 3, 60)
        shop.roll(new)
        until(lambda: "3" in shop.open_versions(), 30)
        shop.roll(old)
        # What only the newer code knows waits for it, and somebody is told.
        until(lambda: "unknown_definition" in system.python(OPEN_ALERTS), 90)
        assert "3" in shop.open_versions()
        shop.roll(new)

    shop.end_all()
    assert len(shop.keys) > 60
    assert system.python(ATTEMPTS).strip() == "0"
    until(lambda: not system.python(OPEN_ALERTS).strip(), 180)
    assert "0 rows break one" in system.manage("check_invariants")
    for name in shop.commands:
        system.processes[name].send_signal(signal.SIGTERM)
    codes = {name: system.processes.pop(name).wait(GRACE) for name in shop.commands}
    assert codes == dict.fromkeys(shop.commands, 0)


def server(url: str) -> Mapping[str, Any]:
    parts = urlsplit(url)
    return {
        "host": parts.hostname, "port": parts.port, "user": parts.username,
        "dbname": parts.path.removeprefix("/"),
    }  # fmt: skip


def empty_queues(url: str) -> None:
    host = ["-p", urlsplit(url).path.removeprefix("/")]
    names = programs.rabbitmqctl(*host, "list_queues", "name", "--no-table-headers").split()
    assert "sas.scheduler" in names
    for name in names:
        programs.rabbitmqctl(*host, "purge_queue", name)


def postgres_tool(program: str, url: str, *words: str) -> None:
    place = server(url)
    where = ["-h", place["host"], "-p", str(place["port"]), "-U", place["user"]]
    subprocess.run([program, *where, "-d", place["dbname"], *words], check=True)


def test_a_backup_is_restored_and_every_order_ends(shop, tmp_path):
    system, dump = shop.system, tmp_path / "backup"
    database = system.environment["DATABASE_URL"]
    shop.start()
    with shop.orders_coming():
        until(lambda: system.states()["states"].get("processed", 0) >= 3, 60)
        postgres_tool("pg_dump", database, "-Fc", "-f", str(dump))
        kept = len(shop.keys)
        # Calls are made that the backup knows nothing of.
        until(lambda: len(shop.keys) >= kept + 6, 30)
        for name in shop.commands:
            system.kill(name)

    name = server(database)["dbname"]
    with psycopg.connect(POSTGRES.replace("postgres://", "postgresql://"), autocommit=True) as own:
        own.execute(f"DROP DATABASE {name} WITH (FORCE)")
        own.execute(f"CREATE DATABASE {name}")
    postgres_tool("pg_restore", database, "--no-owner", str(dump))
    empty_queues(system.environment["BROKER_URL"])
    system.manage("sas", "restored", "--since", system.python(NEWEST).strip())
    system.manage("order_numbers", "--next", "20000")
    shop.start()
    # Clients send again what they do not see.
    for key in shop.keys:
        until(partial(shop.submit, key), 30)

    shop.end_all()
    charges = effects(system.environment["SANDBOX_URL"], "payment", "charge")
    assert len(charges) == len(set(charges)), "an order was charged twice"
