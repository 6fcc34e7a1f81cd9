"""kill -9 of every process of the running stack, the stack itself last: nothing is lost.

Orders are on their way at every kill, services fail meanwhile, and the ledgers witness that
nothing happened twice.
"""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.acceptance.system import System, set_faults
from tests.programs import until
from tests.services import own_postgres_database, own_rabbitmq_vhost

pytestmark = pytest.mark.slow
STACK = ("manage.py", "stack", "--web-port", "0", "--sandbox-port", "0")
PER_KILL = 6


@pytest.fixture(params=["embedded", "postgresql+rabbitmq"])
def system(request, tmp_path) -> Iterator[System]:
    with ExitStack() as stack:
        urls = {}
        if request.param != "embedded":
            urls["DATABASE_URL"] = stack.enter_context(own_postgres_database())
            urls["BROKER_URL"] = stack.enter_context(own_rabbitmq_vhost())
        system = stack.enter_context(System(tmp_path, **urls))
        if request.param == "embedded":
            system.environment.pop("DATABASE_URL", None)
            system.environment.pop("BROKER_URL", None)
        yield system


def start_stack(system: System) -> dict[str, Any]:
    log = system.folder / "stack.log"
    before = log.read_text().count('"ready"') if log.exists() else 0
    system.start("stack", *STACK)
    until(lambda: log.read_text().count('"ready"') > before, 60)
    lines = [line for line in log.read_text().splitlines() if line.startswith('{"ready"')]
    ready: dict[str, Any] = json.loads(lines[-1])
    system.environment["SANDBOX_URL"] = ready["sandbox"]
    return ready


def listed(system: System) -> dict[str, list[int]]:
    found: dict[str, list[int]] = json.loads((system.folder / "stack.json").read_text())
    return found


def is_replaced(system: System, role: str, killed: int) -> bool:
    pids = listed(system).get(role, [])
    return bool(pids) and pids[0] != killed


@pytest.mark.fault("F1")
@pytest.mark.fault("F3")
def test_whatever_is_killed_every_order_ends_once(system):
    ready = start_stack(system)
    set_faults(ready["sandbox"], "payment", error_rate=0.1, drop_after_effect_rate=0.05, seed=7)
    set_faults(ready["sandbox"], "billing", latency_seconds=0.1)
    placed = 0
    roles = [role for role in listed(system) if role != "stack"]
    assert {"scheduler", "agents", "beat", "web", "sandbox"} <= set(roles)

    for role in roles:
        system.place(PER_KILL)
        placed += PER_KILL
        killed = listed(system)[role][0]
        os.kill(killed, signal.SIGKILL)
        until(lambda role=role, killed=killed: is_replaced(system, role, killed), 20)  # type: ignore[misc]

    # A child of a pool is not its worker: end one of those, too.
    system.place(PER_KILL)
    os.kill(listed(system)["agents"][-1], signal.SIGKILL)
    system.place(PER_KILL)
    placed += 2 * PER_KILL
    system.kill("stack")
    start_stack(system)

    end = time.monotonic() + 90
    found = system.states()
    while set(found["states"]) - {"processed", "error"} and time.monotonic() < end:
        time.sleep(1)
        found = system.states()
    assert sum(found["states"].values()) == placed
    assert set(found["states"]) <= {"processed", "error"}, system.log("stack")
    assert found["states"].get("error", 0) <= 2
    checked = json.loads(system.manage("check_invariants", "--json"))
    assert (checked["holds"], checked["ledgers"]) == (True, True)

    system.kill("stack", by=signal.SIGTERM)
    assert not (system.folder / "stack.json").exists()
