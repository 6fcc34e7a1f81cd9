"""A service limited to 2 calls a second never sees more than 4 in one, restarts included."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.backends import backends
from tests.acceptance.box.driving import BoxSystem
from tests.acceptance.system import until

pytestmark = pytest.mark.slow
CLAIMS, RATE, MOST_A_SECOND = 40, 2, 4


@pytest.fixture
def system(tmp_path: Path) -> Iterator[BoxSystem]:
    with backends("postgresql+rabbitmq", tmp_path) as urls, BoxSystem(tmp_path, **urls) as system:
        system.manage("migrate", "-v", "0")
        yield system


def test_what_waited_while_workers_were_away_does_not_leave_at_once(system: BoxSystem) -> None:
    system.worker("scheduler", "-c", "1", "-Q", "sas.scheduler,sas.replies,sas.supervisor")
    system.worker("agents", "-c", "4", "-Q", "sas.agents")
    system.beat()
    system.submit("box_metered", CLAIMS)
    for goal in (6, 12):
        until(lambda goal=goal: len(system.calls()) >= goal, 60)  # type: ignore[misc]
        # Longer than the dispatch allowance: the same claims are sent again meanwhile.
        system.kill("agents")
        time.sleep(8)
        system.worker("agents", "-c", "4", "-Q", "sas.agents")
    until(lambda: len(system.calls()) >= 18, 60)
    system.kill("scheduler")
    time.sleep(4)
    system.worker("scheduler", "-c", "1", "-Q", "sas.scheduler,sas.replies,sas.supervisor")
    until(lambda: system.states()["states"] == {"processed": CLAIMS}, 90)

    times = sorted(float(call[2]) for call in system.calls())
    crowds = [sum(0 <= other - at < 1 for other in times) for at in times]
    assert max(crowds) <= MOST_A_SECOND, f"{max(crowds)} in one second: {times}"
    # Nor is it much slower than it may be, while nobody was away.
    calm = [at for at in times if at > times[-1] - 5]
    print(
        f"{len(times)} calls, {max(crowds)} at most in a second, {len(calm) / 5} a second at last"
    )
