"""A job paused, resumed, killed at its worker and stopped: it acts on no process twice.

``JOB_PROCESSES=10000`` runs it with as many; the figures are printed (``-s``).
"""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from tests.acceptance.backends import backends
from tests.acceptance.box.driving import BoxSystem
from tests.programs import until

pytestmark = pytest.mark.slow
COUNT = int(os.environ.get("JOB_PROCESSES", "600"))
#: The first job takes so long, were it left alone.
SECONDS = 300
SCHEDULER = "sas.scheduler,sas.supervisor,sas.reports"

#: So many processes fail in one call of ``manage.py``.
PORTION = 500
#: Processes that their service has refused, worked in this one process.
FAILED = """
from unittest.mock import patch
from tests.acceptance.box.agents import Quick
from workers.client.submission import submit_many
from workers.exceptions import Permanent
from workers.models import Process
from workers.rules.rows import NewProcess
from workers.testing import wired
def refuse(agent, call):
    raise Permanent("http_400", "no")
with wired() as wire, patch.object(Quick, "run", refuse):
    submit_many("box_quick", [NewProcess(f"Box {{n}}", {{}}) for n in range({count})])
    while Process.objects.exclude(workflow="notice").exclude(state="error").exists():
        wire.run_until_idle(100_000)
"""
#: What was done to how many processes how often, by the journal and by the items.
ACTS = """
import json
from collections import Counter
from django.db.models import Count
from workers.desk.models import BulkItem
from workers.models import Journal
acted = Journal.objects.filter(event="resubmitted", step=None).order_by()
times = Counter(acted.values_list("process").annotate(n=Count("pk")).values_list("n", flat=True))
landed = BulkItem.objects.filter(state="landed")
print(json.dumps({"times": times, "landed": landed.count(),
                  "landed_processes": landed.values("process").distinct().count()}))
"""


@pytest.fixture(params=["sqlite+filesystem", "postgresql+rabbitmq"])
def system(request, tmp_path) -> Iterator[BoxSystem]:
    with backends(request.param, tmp_path) as urls, BoxSystem(tmp_path, **urls) as system:
        system.manage("migrate", "-v", "0")
        yield system


def show(system: BoxSystem, job: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(system.manage("sas", "jobs", "show", str(job), "--json"))
    return found


def start(system: BoxSystem, *words: str) -> int:
    out = system.manage(
        "sas", "jobs", "start", "resubmit", *words, "--reason", "the service is back"
    )
    return int(out.splitlines()[-1])


def wait_for(system: BoxSystem, job: int, done: int) -> None:
    until(lambda: done_of(system, job) >= done, 120 + COUNT / 20)


def done_of(system: BoxSystem, job: int) -> int:
    """Return how much of a job is done, at once: a command takes longer than a chunk."""
    url, question = system.environment["DATABASE_URL"], "SELECT done FROM desk_bulkjob WHERE id"
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=20)) as connection:
            rows = connection.execute(f"{question} = ?", [job]).fetchall()
    else:
        with psycopg.connect(url.replace("postgres://", "postgresql://")) as postgres:
            rows = postgres.execute(f"{question} = %s".encode(), [job]).fetchall()
    return int(rows[0][0]) if rows else 0


def kill_whole(system: BoxSystem, name: str) -> None:
    """End a worker and its children at once, whatever they are at."""
    process = system.processes.pop(name)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


def test_whatever_happens_to_a_job_it_acts_on_no_process_twice(system):
    for begin in range(0, COUNT, PORTION):
        system.python(FAILED.format(count=min(PORTION, COUNT - begin)))
    system.worker("scheduler", "-c", "2", "-Q", SCHEDULER)
    system.worker("agents", "-c", "1", "-Q", "sas.agents")
    system.beat()
    first = start(system, "--workflow", "box_quick", "--rate", str(COUNT / SECONDS))

    wait_for(system, first, COUNT // 20)
    system.manage("sas", "jobs", "pause", str(first))
    held = show(system, first)
    assert held["state"] == "paused"
    assert 0 < held["done"] < COUNT
    time.sleep(2)
    assert show(system, first)["done"] == held["done"]
    system.manage("sas", "jobs", "resume", str(first))

    wait_for(system, first, held["done"] + COUNT // 20)
    kill_whole(system, "scheduler")
    dead = show(system, first)
    assert (dead["state"], dead["done"] < COUNT) == ("running", True)
    system.worker("scheduler", "-c", "2", "-Q", SCHEDULER)

    wait_for(system, first, dead["done"] + COUNT // 20)
    system.manage("sas", "jobs", "stop", str(first))
    stopped = show(system, first)
    assert stopped["state"] == "stopped"
    assert 0 < stopped["done"] < COUNT

    # The others, as fast as possible; its worker is killed, too.
    second = first + 1
    words = ("--job", f"{first}:to_do", "--reason", "the others")
    system.start("second", "manage.py", "sas", "jobs", "start", "resubmit", *words)
    until(lambda: done_of(system, second) > 0, 60)
    begun = time.monotonic()
    kill_whole(system, "scheduler")
    killed = show(system, second)
    system.worker("scheduler", "-c", "2", "-Q", SCHEDULER)
    wait_for(system, second, COUNT - stopped["done"])
    seconds = time.monotonic() - begun

    until(lambda: _processed(system, first, second) == COUNT, 60 + COUNT / 20)
    found = json.loads(system.python(ACTS))
    print(
        f"\n{COUNT} processes: paused at {held['done']}, worker killed at {dead['done']}, stopped"
        f" at {stopped['done']}; of the other {killed['total']} its worker was killed at"
        f" {killed['done']}, and {seconds:.1f} s later all were acted on. Times: {found['times']}."
    )
    assert COUNT < 5000 or killed["done"] < killed["total"]
    assert found == {"times": {"1": COUNT}, "landed": COUNT, "landed_processes": COUNT}
    assert [show(system, job)["refused"] for job in (first, second)] == [0, 0]
    assert json.loads(system.manage("check_invariants", "--json"))["holds"] is True


def _processed(system: BoxSystem, *jobs: int) -> int:
    return sum(show(system, job)["outcome"]["processed"] for job in jobs)
