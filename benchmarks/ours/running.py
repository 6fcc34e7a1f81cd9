"""What every measurement of ours does: tables, orders, workers, and the proof at the end."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection

from benchmarks import ready
from benchmarks.exceptions import Wrong
from benchmarks.processes import Fleet, free_port
from benchmarks.shape import CHILDREN, LIMIT_SECONDS
from sasproject.stack import probes
from workers.client.submission import submit_many
from workers.definitions import registry
from workers.models import Journal, Process, Step
from workers.ops.invariants import violations
from workers.rules.rows import NewProcess
from workers.wire import dispatch

#: Orders of one transaction where many are submitted together.
BULK = 200
#: Among so many values, where a workflow has an attribute.
KEYS = 1_000


def prepare() -> None:
    """Make the tables, unless the database is a copy of one that has them."""
    if "workers_process" not in connection.introspection.table_names():
        call_command("migrate", verbosity=0)


def fill(workflow: str, orders: int) -> float:
    """Submit orders without waking anybody; return how many a second."""
    dispatch.wake_scheduler_later = lambda: None
    dispatch.wake_agents_later = lambda queue: None
    declared = registry.workflow(workflow).attributes

    def order(number: int) -> NewProcess:
        values = dict.fromkeys(declared, number % KEYS) or None
        return NewProcess(f"order {number}", {}, attributes=values)

    began = time.perf_counter()
    for begin in range(0, orders, BULK):
        numbers = range(begin, min(begin + BULK, orders))
        submit_many(workflow, [order(number) for number in numbers])
    return orders / (time.perf_counter() - began)


def analyze() -> None:
    """Do what autovacuum does within a minute of such a filling."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


#: The commands of *Run it in production* for the workers, and the one that serves every queue.
SCHEDULER = "-Q sas.scheduler,sas.supervisor,sas.reports --concurrency 2"
AGENTS = "-Q sas.agents --concurrency 16"
PLAIN = ""


def start(fleet: Fleet) -> None:
    """Start Beat, then the scheduler, then the agents, whose first claim starts the clock."""
    if os.environ.get("BENCH_PLAIN") == "1":
        start_beat(fleet)
        _start_worker(fleet, "worker", PLAIN)
        fleet.wait_for("worker", ready.LINE)
        return
    start_scheduler(fleet)
    start_agents(fleet)


def start_agents(fleet: Fleet, role: str = "agents") -> None:
    _start_worker(fleet, role, _agents())
    fleet.wait_for(role, ready.LINE)


def _agents() -> str:
    """Return the command for agents, with as many processes as the measurement says."""
    if CHILDREN not in os.environ:
        return AGENTS
    command, _, _ = AGENTS.rpartition(" ")
    return f"{command} {os.environ[CHILDREN]}"


def start_scheduler(fleet: Fleet) -> None:
    """Start Beat, whose first poll waits in the queue, and then who reads it."""
    start_beat(fleet)
    _start_worker(fleet, "scheduler", SCHEDULER)
    fleet.wait_for("scheduler", ready.LINE)


def start_beat(fleet: Fleet) -> None:
    fleet.start("beat", "-m", "celery", "-A", "sasproject", "beat", "--pidfile=")
    # Printed right before it reads the schedule, whatever the log level.
    fleet.wait_for("beat", "LocalTime ->")


def _start_worker(fleet: Fleet, role: str, options: str) -> None:
    """Start a worker by one of these commands; the rest lets it say when it is ready."""
    words = f"-m celery -A sasproject worker {options} -n {role}@%h --include benchmarks.ready"
    fleet.start(role, *words.split())


def start_web(fleet: Fleet) -> int:
    """Start the web server as the stack does; return its port."""
    port = free_port()
    fleet.start(
        "web",
        *("-m", "gunicorn", "sasproject.wsgi", "--bind", f"127.0.0.1:{port}"),
        *("--log-level", "warning"),
    )
    wait_until(lambda: probes.answers(port, "/livez", "/readyz"), "the web server answers")
    return port


def wait_until(is_so: Callable[[], bool], what: str, every: float = 0.2) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        if time.monotonic() > end:
            raise Wrong(f"{what}: not so after {LIMIT_SECONDS} s")
        time.sleep(every)


def wait_for(orders: int) -> None:
    wait_until(lambda: processed() >= orders, f"{orders} orders processed")


def processed() -> int:
    return Process.objects.filter(finished_at__isnull=False).count()


def check(orders: int) -> dict[str, Any]:
    """Raise ``Wrong`` unless all was done, and done right; return what else was counted."""
    done = Process.objects.filter(state="processed").count()
    if done != orders:
        raise Wrong(f"{done} of {orders} orders are processed")
    if os.environ.get("BENCH_WITHOUT") != "journal":
        _check_journal(orders)
    logs = Path(os.environ["SAS_RUN_DIR"]).glob("*.log")
    locked = sum(log.read_text(errors="replace").count("database is locked") for log in logs)
    moves = Journal.objects.filter(before__isnull=False, after__isnull=False).count()
    return {"transitions_per_order": moves / orders, "locked_errors": locked}


def _check_journal(orders: int) -> None:
    steps = Step.objects.count()
    for event, wanted, rows in (
        ("submitted", orders, Journal.objects.filter(step__isnull=True)),
        ("processed", orders, Journal.objects.filter(step__isnull=True)),
        ("processed", steps, Journal.objects.filter(step__isnull=False)),
    ):
        found = rows.filter(event=event).count()
        if found != wanted:
            raise Wrong(f"the journal has {found} rows {event!r}, it should have {wanted}")
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
