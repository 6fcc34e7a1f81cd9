"""A worker's child runs out of memory in a call: one attempt, the same key, another child."""

from collections.abc import Iterator

import pytest

from tests.acceptance.backends import backends
from tests.acceptance.box.driving import BoxSystem
from tests.programs import until

pytestmark = [pytest.mark.slow, pytest.mark.fault("F33")]


@pytest.fixture(params=["sqlite+filesystem", "postgresql+rabbitmq"])
def system(request, tmp_path) -> Iterator[BoxSystem]:
    with backends(request.param, tmp_path) as urls, BoxSystem(tmp_path, **urls) as system:
        system.manage("migrate", "-v", "0")
        yield system


def test_a_call_without_memory_is_made_again_with_its_key_and_by_another_child(system):
    system.worker("scheduler", "-c", "1", "-Q", "sas.scheduler,sas.supervisor")
    # One child: whatever comes after it is done by its successor.
    system.worker("agents", "-c", "1", "-Q", "sas.agents")
    system.beat()
    outcomes = {}

    for done, how in enumerate(("killed", "swollen", "refused"), start=1):
        system.submit("box_hungry", how=how)
        until(lambda done=done: system.states()["states"] == {"processed": done}, 40)  # type: ignore[misc]
        (*_, row) = system.rows()
        outcomes[how] = (row["state"], row["failure_count"], row["attempt"])

    assert outcomes == {
        "killed": ("processed", 1, 2),
        # It had what it needed, and was the last that its child did.
        "swollen": ("processed", 0, 1),
        # Who is told that there is no more can still say so.
        "refused": ("processed", 1, 2),
    }, system.log("agents")
    killed, after, swollen, refused, again = ((call[3], call[4]) for call in system.calls())
    assert (killed[0], refused[0]) == (after[0], again[0]), "the next attempt has the same key"
    assert len({killed[0], swollen[0], refused[0]}) == 3
    assert after[1] == swollen[1], "one child does everything"
    assert len({killed[1], after[1], refused[1]}) == 3, "until it dies or has grown too large"
    assert system.processes["agents"].poll() is None, system.log("agents")
