"""A slow agent with a queue and workers of its own holds up no other agent."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.backends import backends
from tests.acceptance.box.driving import BoxSystem
from tests.acceptance.system import until

pytestmark = pytest.mark.slow
SLOW, SECONDS, QUICK = 4, 6, 10


@pytest.fixture
def system(tmp_path: Path) -> Iterator[BoxSystem]:
    with backends("postgresql+rabbitmq", tmp_path) as urls, BoxSystem(tmp_path, **urls) as system:
        system.manage("migrate", "-v", "0")
        yield system


def test_quick_calls_overtake_slow_ones_of_another_queue(system: BoxSystem) -> None:
    system.worker("scheduler", "-c", "1", "-Q", "sas.scheduler,sas.replies,sas.supervisor")
    system.worker("agents", "-c", "1", "-Q", "sas.agents")
    system.worker("slow", "-c", "1", "-Q", "box.slow")
    system.beat()
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
