"""An agent that ends its process at every call: an error after its attempts, and no loop."""

from collections.abc import Iterator

import pytest

from tests.acceptance.backends import backends
from tests.acceptance.box.driving import BoxSystem
from tests.programs import until

pytestmark = pytest.mark.slow
THRESHOLD = 3


@pytest.fixture(params=["sqlite+filesystem", "postgresql+rabbitmq"])
def system(request, tmp_path) -> Iterator[BoxSystem]:
    with (
        backends(request.param, tmp_path) as urls,
        BoxSystem(tmp_path, SAS_FAILURE_THRESHOLD=str(THRESHOLD), **urls) as system,
    ):
        system.manage("migrate", "-v", "0")
        yield system


@pytest.mark.fault("F28")
def test_a_call_that_kills_its_process_ends_in_error_and_holds_up_no_other(system):
    system.worker("worker", "-c", "2")
    system.beat()
    pid = system.processes["worker"].pid
    system.submit("box_deadly")
    quick = 0

    while not (over := system.states()["states"].get("error")):
        assert quick < 60, system.log("worker")
        system.submit("box_quick", 1)
        quick += 1

    assert over == 1
    deadly = next(row for row in system.rows() if row["agent"] == "box.deadly")
    assert (deadly["state"], deadly["failure_count"], deadly["attempt"]) == (
        "error",
        THRESHOLD,
        THRESHOLD,
    )
    # A worker without -Q serves the slow agent's own queue, too.
    system.submit("box_slow", 1)
    until(lambda: system.states()["states"] == {"error": 1, "processed": quick + 1}, 30)
    assert len([call for call in system.calls() if call[0] == "box.deadly"]) == THRESHOLD
    assert {row["failure_count"] for row in system.rows()} == {0, THRESHOLD}
    assert (system.processes["worker"].pid, system.processes["worker"].poll()) == (pid, None)
