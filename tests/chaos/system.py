"""The system under test: every process of it, with one environment, in one run folder."""

import json
import os
import secrets
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sasproject import brokers
from tests import programs
from tests.chaos.backend import Backend
from tests.chaos.chronicle import Chronicle
from tests.chaos.crew import Crew, Member
from tests.chaos.instances.server import HOST, free_port
from tests.programs import ROOT

CLIENT = "chaos"
SCHEDULER_QUEUES = "sas.scheduler,sas.supervisor,sas.reports"
AGENT_QUEUES = "sas.agents"
#: Workers that serve agents, and processes of each.
AGENT_WORKERS, AGENT_CONCURRENCY = 2, 3
AGENT_CHILDREN = AGENT_WORKERS * AGENT_CONCURRENCY
UP_SECONDS = 90.0
STEP_TIMEOUT_SECONDS = 5
#: So that what is broken heals within seconds; every other setting is as shipped.
SETTINGS = {
    "SAS_STEP_TIMEOUT_SECONDS": str(STEP_TIMEOUT_SECONDS),
    "SAS_BACKOFF_BASE_SECONDS": "0.5",
    "SAS_BACKOFF_CAP_SECONDS": "2",
    "SAS_BREAKER_SECONDS": "2",
    "SAS_SWEEP_SECONDS": "1",
    "SAS_POLL_SECONDS": "1",
    "SAS_SHUTDOWN_SECONDS": "3",
    "SAS_LOG_LEVEL": "INFO",
}
#: What a proxy in front of the web server adds.  It is not there, so whoever asks adds it.
BY_PROXY = {"X-Forwarded-Proto": "https"}
#: In one process, which starts once.  The client's own limit of requests would slow the load.
PREPARE = f"""
from django.core.management import call_command
from orders.models import ApiClient
call_command("migrate", verbosity=0)
call_command("seed_demo", no_users=True)
call_command("client", "add", "{CLIENT}")
ApiClient.objects.update(requests_per_minute=1_000_000)
"""


class NotUp(Exception):
    """The system does not come up before anything was done to it."""


class System:
    """The crew over a backend; ``prepare``, ``start``, ``end``."""

    def __init__(
        self, backend: Backend, chronicle: Chronicle, settings: dict[str, str] | None = None
    ) -> None:
        self.backend = backend
        self.chronicle = chronicle
        self.folder = backend.folder
        self.crew = Crew(chronicle)
        self.web_port, self.sandbox_port = free_port(), free_port()
        self.token = ""
        #: What every service does while no fault strikes it.
        self.usual: dict[str, Any] = {}
        self.run_dir = self.folder / "run"
        self.run_dir.mkdir(exist_ok=True)
        self._common = {
            **{name: text for name, text in os.environ.items() if not name.startswith("SAS_")},
            **SETTINGS,
            **(settings or {}),
            # As in production: what is proven is what ships.
            "DJANGO_DEBUG": "off",
            "DJANGO_SECRET_KEY": secrets.token_urlsafe(48),
            "DJANGO_ALLOWED_HOSTS": HOST,
            "DJANGO_BEHIND_PROXY": "on",
            "EMAIL_URL": f"filemail:///{self.run_dir / 'mail'}",
            "SAS_RUN_DIR": str(self.run_dir),
            "SANDBOX_URL": self.sandbox_url,
            "DJANGO_SETTINGS_MODULE": "sasproject.settings",
            "PYTHONUNBUFFERED": "1",
        }

    @property
    def web_url(self) -> str:
        return f"http://{HOST}:{self.web_port}"

    @property
    def sandbox_url(self) -> str:
        return f"http://{HOST}:{self.sandbox_port}"

    @property
    def messages(self) -> Path:
        """Return the folder in which messages wait where the broker is the filesystem."""
        _, options = brokers.configure("", self.run_dir)
        return Path(options["data_folder_in"])

    def env(self, *, past_proxies: bool = False) -> dict[str, str]:
        """Return the environment of the system's processes, or of a bystander of theirs."""
        return {**self._common, **self.backend.environment(past_proxies=past_proxies)}

    def prepare(self) -> None:
        """Make the tables, the products and the client that submits."""
        self.token = self.manage("shell", "-v", "0", "-c", PREPARE).split()[-1]

    def start(self, *, schedulers: int = 2, agents: int = AGENT_WORKERS) -> None:
        """Start everybody and wait until orders can be placed and carried out."""
        self.add("sandbox", "manage.py", "sandbox", "--port", str(self.sandbox_port))
        self.add(
            *("web", "-m", "gunicorn", "sasproject.wsgi", "--bind", f"{HOST}:{self.web_port}"),
            *("--graceful-timeout", "3", "--log-level", "warning"),
        )
        self.add("consumer", "manage.py", "consume_submissions")
        self.add("beat", *celery("beat", "--pidfile="))
        for number in range(schedulers):
            self.add_worker(f"scheduler-{number + 1}", SCHEDULER_QUEUES, concurrency=2)
        for number in range(agents):
            self.add_worker(f"agents-{number + 1}", AGENT_QUEUES, concurrency=AGENT_CONCURRENCY)
        self.crew.start()
        self._until_up()

    def add(
        self, name: str, *words: str, cwd: Path = ROOT, extra: dict[str, str] | None = None
    ) -> Member:
        env = {**self.env(), **(extra or {})}
        return self.crew.add(name, [sys.executable, *words], env, cwd, self.log_of(name))

    def add_worker(self, name: str, queues: str, *, concurrency: int, cwd: Path = ROOT) -> Member:
        words = ("-Q", queues, "-c", str(concurrency), "-n", f"{name}@%h", "--without-gossip",
                 "--without-mingle", "-l", "INFO")  # fmt: skip
        return self.add(name, *celery("worker", *words), cwd=cwd)

    def log_of(self, name: str) -> Path:
        (self.folder / "logs").mkdir(exist_ok=True)
        return self.folder / "logs" / f"{name}.log"

    def manage(self, *words: str, check: bool = True) -> str:
        """Run a management command past the proxies; return what it printed.

        Where it printed nothing, and may fail: what it said instead.
        """
        done = programs.python("manage.py", *words, env=self.env(past_proxies=True), seconds=180)
        if check and done.returncode:
            raise NotUp(f"manage.py {' '.join(words[:2])}: {done.stdout}\n{done.stderr[-2000:]}")
        return done.stdout or ("" if check else done.stderr)

    def set_faults(self, service: str, **faults: Any) -> None:
        """Replace what a stand-in service does wrong."""
        request = urllib.request.Request(
            f"{self.sandbox_url}/{service}/faults", json.dumps(faults).encode(), method="PUT"
        )
        urllib.request.urlopen(request, timeout=5).close()

    def end(self) -> None:
        self.crew.end()

    def _until_up(self) -> None:
        end = time.monotonic() + UP_SECONDS
        signs: dict[str, Callable[[], bool]] = {
            "web": lambda: answers(f"{self.web_url}/readyz"),
            "sandbox": lambda: answers(f"{self.sandbox_url}/healthz"),
            "consumer": lambda: "consuming orders.submissions" in self._said("consumer"),
        }
        for member in self.crew.of_kind("scheduler", "agents"):
            signs[member.name] = lambda name=member.name: " ready." in self._said(name)
        while missing := [name for name, is_up in signs.items() if not is_up()]:
            if time.monotonic() > end:
                said = self._said(missing[0])[-2000:]
                raise NotUp(f"{', '.join(missing)} not up in {UP_SECONDS:g} s:\n{said}")
            time.sleep(0.3)

    def _said(self, name: str) -> str:
        log = self.log_of(name)
        return log.read_text(errors="replace") if log.exists() else ""


def celery(*words: str) -> tuple[str, ...]:
    return ("-m", "celery", "-A", "sasproject", *words)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=BY_PROXY), timeout=2
        ) as answer:
            return bool(answer.status < 300)
    except OSError:
        return False
