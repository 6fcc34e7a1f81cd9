"""The script is played: orders, kills at their moments, patience, and faults off at last."""

from typing import Any

import pytest

from sasproject.demo import headless, script
from sasproject.demo.ending import DemoStopped

from .fakes import FakeRun

ROLES = ("agents", "scheduler", "broker")


def play(run: FakeRun, orders: int = 60) -> None:
    headless.play(run, orders)  # type: ignore[arg-type]


@pytest.fixture
def run() -> FakeRun:
    run = FakeRun()
    run.settled = True
    return run


def killed(run: FakeRun) -> list[str]:
    return [deed.split()[1] for deed in run.done if deed.startswith("kill")]


def test_kills_and_the_outage_come_when_the_script_has_them(run):
    play(run)
    agents, scheduler, broker = (
        f"kill {kill.role} after {kill.after}" for kill in script.kills(7, 60, ROLES)
    )
    assert run.done == ["faults", "start", agents, scheduler, "down", "up", broker]
    assert "payment is down, after 37 orders" in run.said
    assert "kill -9 agents, after 20 orders" in run.said


def test_a_kill_waits_for_a_charge_but_not_for_ever(run):
    run.charging = False
    play(run)
    first = script.kills(7, 60, ROLES)[0]
    late = first.after + int(headless.WORST_MOMENT_SECONDS)
    assert run.done[2] == f"kill agents after {late}"
    assert sum(deed.startswith("kill") for deed in run.done) == 3


def test_a_kill_waits_for_a_victim_that_is_down(run):
    run.down = {"scheduler"}
    play(run)
    assert killed(run) == list(ROLES)


def test_a_broker_that_is_not_ours_lives():
    run = FakeRun(roles=("agents", "scheduler", "web"))
    run.settled = True
    play(run)
    assert killed(run) == ["agents", "scheduler"]
    assert run.done[-2:] == ["down", "up"]


def test_kills_come_although_fewer_orders_do(run):
    run.generator.is_finished = True
    play(run)
    assert sum(deed.startswith("kill") for deed in run.done) == 3


def test_only_the_last_orders_get_rid_of_the_faults(run):
    run.settled = False
    play(run)
    assert run.done[-1] == "clear"
    assert "faults off for the last orders" in run.said


@pytest.mark.parametrize("is_known", [True, False])
def test_where_to_look_is_said(run, settings, is_known):
    settings.DEMO_LOGINS = is_known
    said: list[str] = []
    run.voice.tell = said.append  # type: ignore[method-assign]
    play(run)
    assert said[0] == "Shop: http://web/"
    assert ("operator / operator" in said[1]) == is_known


def test_ctrl_c_stops_it(run):
    run.ending.interrupts = 1
    with pytest.raises(DemoStopped):
        play(run)


def test_large_orders_are_decided_on(run):
    run.undecided = 2
    play(run)
    assert run.done.count("accept") == 2


def test_the_last_line_tells_the_end(run):
    shown: list[Any] = []
    run.voice.tell = shown.append  # type: ignore[method-assign]
    play(run)
    assert "placed" in shown[-1]
