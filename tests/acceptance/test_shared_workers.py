"""Agents beside each other: a slow one holds up no other, and a service sees no more than its rate.

A service limited to 2 calls a second never sees more than 4 in one, restarts included.
"""

import time
from collections.abc import Iterator

import pytest

from tests.acceptance.backends import backends
from tests.acceptance.box.driving import BoxSystem
from tests.programs import until

pytestmark = pytest.mark.slow
SLOW, SECONDS, QUICK = 4, 6, 10
RATED, MOST_A_SECOND = 40, 4


@pytest.fixture
def system(tmp_path) -> Iterator[BoxSystem]:
    with backends("postgresql+rabbitmq", tmp_path) as urls, BoxSystem(tmp_path, **urls) as system:
        system.manage("migrate", "-v", "0")
        system.worker("scheduler", "-c", "1", "-Q", "sas.scheduler,sas.supervisor")
        system.beat()
        yield system


def test_quick_calls_overtake_slow_ones_of_another_queue(system):
    system.worker("agents", "-c", "1", "-Q", "sas.agents")
    system.worker("slow", "-c", "1", "-Q", "box.slow")
    system.submit("box_slow", SLOW, seconds=SECONDS)
    until(lambda: len(system.calls()) == 1, 30)
    began = time.time()

    system.submit("box_quick", QUICK)
    until(lambda: len(quick(system)) == QUICK, 20)

    assert max(quick(system)) - began < SECONDS
    assert system.states()["states"].get("processed", 0) < SLOW + QUICK
    until(lambda: system.states()["states"] == {"processed": SLOW + QUICK}, 60)


def quick(system: BoxSystem) -> list[float]:
    return [float(call[2]) for call in system.calls() if call[0] == "box.quick"]


def test_what_waited_while_workers_were_away_does_not_leave_at_once(system):
    system.worker("agents", "-c", "4", "-Q", "sas.agents")
    system.submit("box_metered", RATED)
    for goal in (6, 12):
        until(lambda goal=goal: len(system.calls()) >= goal, 60)  # type: ignore[misc]
        system.kill("agents")
        time.sleep(8)
        system.worker("agents", "-c", "4", "-Q", "sas.agents")
    until(lambda: len(system.calls()) >= 18, 60)
    system.kill("scheduler")
    time.sleep(4)
    system.worker("scheduler", "-c", "1", "-Q", "sas.scheduler,sas.supervisor")
    until(lambda: system.states()["states"] == {"processed": RATED}, 90)

    times = sorted(float(call[2]) for call in system.calls())
    crowds = [sum(0 <= other - at < 1 for other in times) for at in times]
    assert max(crowds) <= MOST_A_SECOND, f"{max(crowds)} in one second: {times}"
