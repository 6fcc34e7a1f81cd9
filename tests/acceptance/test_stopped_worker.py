"""A worker that is stopped in the middle of its calls costs no attempt and no second effect.

Signals stand for what process managers and people send: SIGTERM lets calls end for
``SAS_SHUTDOWN_SECONDS``, a second one and SIGQUIT do not.
"""

import signal
import time
from collections.abc import Iterator

import pytest

from tests.acceptance.backends import backends
from tests.acceptance.box.driving import BoxSystem
from tests.acceptance.ledgers import effects
from tests.acceptance.system import set_faults
from tests.programs import until

pytestmark = pytest.mark.slow
SECONDS = "1"
LATENCY = 14


@pytest.fixture
def pair() -> str:
    return "postgresql+rabbitmq"


@pytest.fixture
def system(pair, tmp_path) -> Iterator[BoxSystem]:
    with (
        backends(pair, tmp_path) as urls,
        BoxSystem(
            tmp_path, SAS_STEP_TIMEOUT_SECONDS="30", SAS_SHUTDOWN_SECONDS=SECONDS, **urls
        ) as system,
    ):
        system.manage("migrate", "-v", "0")
        yield system


def stop(system: BoxSystem, name: str, *signals: signal.Signals) -> float:
    """Send signals a moment apart; return how long the worker took to end."""
    process = system.processes.pop(name)
    began = time.monotonic()
    for number in signals:
        process.send_signal(number)
        time.sleep(0.5)
    process.wait(20)
    return time.monotonic() - began


@pytest.mark.fault("F34")
@pytest.mark.parametrize(
    ("pair", "signals"),
    [
        pytest.param("postgresql+rabbitmq", (signal.SIGTERM,), marks=pytest.mark.smoke),
        ("postgresql+rabbitmq", (signal.SIGQUIT,)),
        ("sqlite+redis", (signal.SIGTERM, signal.SIGTERM)),
        ("sqlite+filesystem", (signal.SIGTERM,)),
        ("sqlite+filesystem", (signal.SIGQUIT,)),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(s.name for s in value),
)
def test_an_order_whose_worker_is_stopped_ends_with_one_charge_and_no_failure(system, signals):
    if len(signals) == 2:
        # Only the second signal can end it early enough.
        system.environment["SAS_SHUTDOWN_SECONDS"] = "60"
    system.manage("seed_demo")
    url = system.sandbox()
    set_faults(url, "payment", latency_seconds=LATENCY)
    system.worker("first", "-c", "5")
    system.beat()
    system.place(3)
    until(lambda: started(system, "charge_payment") == 3, 30)

    took = stop(system, "first", *signals)

    assert took < LATENCY - 4, system.log("first")
    charged = [row for row in system.rows() if row["name"] == "charge_payment"]
    assert {(row["state"], row["failure_count"], row["attempt"]) for row in charged} == {
        ("pending", 0, 1)
    }, system.log("first")
    assert all(row["is_in_doubt"] and row["may_have_effect"] for row in charged)
    set_faults(url, "payment")
    system.worker("second")
    until(lambda: system.states()["states"] == {"processed": 3}, 60)
    assert {row["failure_count"] for row in system.rows()} == {0}
    assert system.events().count("handed_back") == 3
    charged_orders = effects(url, "payment", "charge")
    assert (len(charged_orders), len(set(charged_orders))) == (3, 3)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT], ids=lambda one: one.name)
def test_calls_that_end_in_time_are_not_cut_off_and_not_repeated(system, number):
    system.environment["SAS_SHUTDOWN_SECONDS"] = "6"
    system.worker("scheduler", "-c", "1", "-Q", "sas.scheduler,sas.supervisor")
    system.worker("agents", "-c", "3", "-Q", "sas.agents")
    system.beat()
    system.submit("box_quick", 3, seconds=3)
    until(lambda: len(system.calls()) == 3, 30)

    stop(system, "agents", number)

    until(lambda: system.states()["states"] == {"processed": 3}, 10)
    assert len(system.calls()) == 3
    assert "handed_back" not in system.events()


def test_an_unsafe_call_is_not_handed_back_and_a_local_one_is_proven_without_effect(system):
    system.submit("box_unsafe", seconds=12)
    system.submit("box_local", seconds=12)
    system.worker("first", "-c", "4")
    system.beat()
    until(lambda: len(system.calls()) == 2, 30)

    stop(system, "first", signal.SIGQUIT)

    unsafe, local = system.rows()
    assert (unsafe["state"], unsafe["agent"]) == ("processing", "box.unsafe")
    assert (local["state"], local["may_have_effect"], local["is_in_doubt"]) == (
        "pending",
        False,
        False,
    )
    system.worker("second")
    until(lambda: system.states()["states"] == {"processed": 1, "error": 1}, 60)
    assert {row["agent"]: row["failure_count"] for row in system.rows()} == {
        "box.unsafe": 1,
        "box.local": 0,
    }


def started(system: BoxSystem, name: str) -> int:
    return sum(row["name"] == name and row["may_have_effect"] for row in system.rows())
