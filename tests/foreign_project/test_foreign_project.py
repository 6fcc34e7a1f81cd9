"""The engine in a company's own project: nothing of the shop, and habits of its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import programs
from tests.matrix import PINS, PYTHON
from tests.pages import checkout
from tests.pages.test_tutorial import build_wheel
from tests.services import own_postgres_database, own_rabbitmq_vhost

pytestmark = [pytest.mark.slow, pytest.mark.smoke]
CLAIMS = 12
UNFOLD = "django-unfold==0.91.0"
SUBMIT = f"""
import workers
from django.db import transaction
with transaction.atomic():
    for n in range({CLAIMS}):
        workers.submit("claim", subject=f"Claim {{n}}", input={{"sum": n}})
"""
STATES = """
from collections import Counter
from workers.models import Process
print(sorted(Counter(Process.objects.values_list("state", flat=True)).items()))
"""
CLOSED = """
from people.models import ClosedClaim
print(sorted(ClosedClaim.objects.values_list("state", flat=True)))
"""
OWN_CALLS = """
from acme.tasks import (
    count_people, exits_on_failure, slow_query, unreadable_error, unreadable_result
)
from django.db import connection

def succeeded(count):
    results = [count_people.delay() for _ in range(count)]
    for one in results:
        one.get(timeout=30, propagate=False)
    return sum(one.successful() for one in results)

print("before", succeeded(2))
with connection.cursor() as cursor:
    cursor.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
print("cut", succeeded(8))
slow_query.delay().get(timeout=30, propagate=False)
print("soft limit", succeeded(5))
for poison in (unreadable_result, unreadable_error, exits_on_failure):
    poison.delay()
print("poison", succeeded(2))
"""
LONG_TASK = """
from acme.tasks import long_task
long_task.delay(8)
"""
OWN_TASK = """
from datetime import date
from acme.tasks import day_after
print(day_after.delay(date(2026, 2, 28)).get(timeout=20))
"""


class Company:
    """A copy of the project in an environment where the wheel is all there is of the engine."""

    def __init__(self, folder: Path, python: Path, database: str, broker: str) -> None:
        self.folder, self.python = folder, python
        kept = {
            name: text for name, text in os.environ.items() if not name.startswith(checkout.OURS)
        }
        kept.pop("PYTHONPATH", None)
        self.environment = {
            **kept,
            "ACME_DATABASE": database,
            "ACME_BROKER": broker,
            # Where tests run as root, Celery would not read pickles.
            "C_FORCE_ROOT": "1",
        }
        self._lasting: list[subprocess.Popen[bytes]] = []

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return programs.run(
            str(self.python),
            *words,
            cwd=self.folder,
            env={**self.environment, **variables},
            seconds=120,
        )

    def manage(self, *words: str) -> str:
        done = self.run("manage.py", *words)
        assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [str(self.python), "-m", "celery", "-A", "acme", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=(self.folder / f"{words[0]}.log").open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._lasting.append(process)
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)

    def states(self) -> str:
        return self.manage("shell", "-v", "0", "-c", STATES).strip()

    def ledger(self) -> list[str]:
        file = self.folder / "ledger"
        return file.read_text().splitlines() if file.exists() else []

    def pip(self, *packages: str) -> None:
        done = self.run("-m", "pip", "install", "-q", *packages)
        assert done.returncode == 0, done.stderr

    def close(self) -> None:
        for process in self._lasting:
            if process.poll() is None:
                self.kill(process)


@pytest.fixture
def company(origin, tmp_path) -> Iterator[Company]:
    folder, python = tmp_path / "acme", tmp_path / "venv" / "bin" / "python"
    shutil.copytree(Path(__file__).parent / "project", folder)
    (folder / "results").mkdir()
    for command in (
        [os.environ.get(PYTHON, sys.executable), "-m", "venv", str(tmp_path / "venv")],
        [
            *(str(python), "-m", "pip", "install", "-q", str(build_wheel(origin, tmp_path))),
            *os.environ.get(PINS, "").split(),
        ],
    ):
        programs.run(*command, check=True)
    with own_postgres_database() as database, own_rabbitmq_vhost() as broker:
        company = Company(folder, python, database, broker)
        try:
            yield company
        finally:
            company.close()


def test_a_company_installs_the_engine_beside_what_it_has(company):
    forgetful = company.run("manage.py", "check", ACME_FORGETS="install")
    assert forgetful.returncode != 0
    assert "workers.E022" in forgetful.stderr
    ended = company.run("-m", "celery", "-A", "acme", "worker", ACME_FORGETS="install")
    assert ended.returncode != 0
    assert "Add `from workers.celery import install`" in f"{ended.stdout}{ended.stderr}"

    assert company.manage("check", "--fail-level", "WARNING")
    company.manage("makemigrations", "people", "-v", "0")
    company.manage("makemigrations", "--check", "--dry-run")
    company.manage("migrate", "-v", "0")
    company.manage("collectstatic", "--noinput", "-v", "0")

    worker = company.start("worker")
    company.start("beat", "--pidfile=", "-s", "beat.db")
    company.manage("shell", "-v", "0", "-c", SUBMIT)
    _until(lambda: len(company.ledger()) >= 4, company)
    company.kill(worker)
    company.start("worker")
    done = f"[('processed', {CLAIMS})]"
    _until(lambda: company.states() == done, company)

    # Killed in the middle, some calls were made twice, with the same key: that is what it is for.
    effects = Counter(line.split()[0] for line in set(company.ledger()))
    assert effects == {"assess": CLAIMS, "pay": CLAIMS}
    # Told of once for each, in the transaction that ended it.
    closed = company.manage("shell", "-v", "0", "-c", CLOSED).strip()
    assert closed == str(["processed"] * CLAIMS)
    assert company.manage("shell", "-v", "0", "-c", OWN_TASK).strip() == "2026-03-01"
    _look(company)
    assert "0 rows break one" in company.manage("sas", "invariants")
    queues = company.run("manage.py", "sas", "doctor", "--json")
    assert '"queues"' in queues.stdout

    # Under another look of the admin every page is there, with all of its styles and scripts.
    company.pip(UNFOLD)
    company.environment["ACME_LOOKS"] = "unfold"
    company.manage("collectstatic", "--noinput", "-v", "0")
    _look(company)


def _look(company: Company) -> None:
    looked = company.run("look.py")
    assert looked.returncode == 0, looked.stderr
    assert re.findall(r"^(\d+ \d+) ", looked.stdout, re.MULTILINE) == ["200 0"] * 8, looked.stdout
    assert "callback 404 not-found\nwebhook 404 not-found" in looked.stdout


@pytest.mark.volume
@pytest.mark.parametrize("forgets", ["engine", ""], ids=["without", "with"])
def test_its_own_tasks_and_tests_are_as_they_were(company, forgets):
    company.environment |= {"ACME_FORGETS": forgets, "SAS_SHUTDOWN_SECONDS": "2"}
    company.manage("makemigrations", "people", "-v", "0")
    company.manage("migrate", "-v", "0")
    worker = company.start("worker", "-Q", "acme.default", "-c", "1")

    said = company.manage("shell", "-v", "0", "-c", OWN_CALLS)

    assert said.split("\n")[:4] == ["before 2", "cut 8", "soft limit 5", "poison 2"], said

    company.manage("shell", "-v", "0", "-c", LONG_TASK)
    _until(lambda: "begun" in company.ledger(), company, states="")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0
    assert company.ledger() == ["begun", "done"]

    company.pip("pytest", "pytest-django")
    tested = company.run(
        *("-m", "pytest", "-q", "-p", "celery.contrib.pytest", "own_fixtures.py"),
        DJANGO_SETTINGS_MODULE="acme.settings",
    )
    assert "3 passed" in tested.stdout, tested.stdout
    for chosen in ("without", "with_a"):
        tested = company.run(
            *("-m", "pytest", "-q", "-p", "celery.contrib.pytest", "own_app.py", "-k", chosen),
            DJANGO_SETTINGS_MODULE="acme.settings",
        )
        assert "2 passed" in tested.stdout, tested.stdout


def _until(is_so: object, company: Company, seconds: float = 90, states: str | None = None) -> None:
    end = time.monotonic() + seconds
    while not is_so():  # type: ignore[operator]
        log = (company.folder / "worker.log").read_text(errors="replace")[-3000:]
        if time.monotonic() > end:
            shown = company.states() if states is None else states
            pytest.fail(f"{shown}\n{company.ledger()[-5:]}\n{log}")
        time.sleep(0.5)
