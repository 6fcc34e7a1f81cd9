"""Keys are obeyed: what k, p, b and q do."""

from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from sasproject.demo.interactive import Course

from .fakes import FakeRun


def typing(run: FakeRun, *keys: str) -> Course:
    typed = list(keys)
    source: Any = SimpleNamespace(read=lambda: typed.pop(0) if typed else "")
    course = Course(run, source, lambda is_ending: None)  # type: ignore[arg-type]
    for _ in keys:
        course.go_on()
    return course


def test_k_kills_a_worker():
    run = FakeRun()
    typing(run, "k", "k")
    assert run.done == ["kill a worker", "kill a worker"]
    assert run.said == ["kill -9 agents"] * 2


def test_p_takes_payment_down_and_up():
    run = FakeRun()
    typing(run, "p", "p")
    assert run.done == ["down", "up"]


def test_two_keys_at_once_are_two_keys():
    run = FakeRun()
    typing(run, "pp")
    assert run.done == ["down", "up"]


def test_b_kills_the_broker_where_it_is_ours():
    ours, theirs = FakeRun(), FakeRun(roles=("agents", "scheduler"))
    typing(ours, "b")
    typing(theirs, "b")
    assert ours.done == ["kill broker after 0"]
    assert theirs.done == []
    assert theirs.said == ["the broker is not the demo's own: it stays"]


def test_a_and_d_decide_on_the_oldest_large_order():
    run = FakeRun()
    run.undecided = 2
    typing(run, "a", "d", "a")
    assert run.done == ["accept", "decline"]
    assert run.said == ["no order waits for a decision"]


def test_quitting_demo_accepts_undecided_orders():
    run = FakeRun()
    run.undecided, run.settled = 1, True
    typing(run, "q").end()
    assert run.done == ["stop", "accept"]


@pytest.mark.parametrize("key", ["x", " ", "1"])
def test_other_keys_do_nothing(key):
    run = FakeRun()
    assert not typing(run, key).is_over()
    assert run.done == run.said == []


def test_q_and_ctrl_c_end_it():
    assert typing(FakeRun(), "q").is_over()
    run = FakeRun()
    course = typing(run, "")
    assert not course.is_over()
    run.ending.interrupts = 1
    assert course.is_over()


def test_the_end_stops_placing_and_brings_payment_up():
    run = FakeRun()
    course = typing(run, "p", "q")
    run.settled = True
    course.end()
    assert run.done == ["down", "stop", "up"]


def test_the_last_orders_get_rid_of_the_faults():
    run = FakeRun()
    typing(run, "q").end()
    assert run.done == ["stop", "clear"]
    assert run.said == ["faults off for the last orders"]


def test_the_end_of_the_broker_is_explained():
    run = FakeRun()
    typing(run, "b")
    assert run.said == ["kill -9 broker: workers wait for it, or end and are started again"]


def test_a_second_q_cuts_the_wait_short():
    run = FakeRun()
    course = typing(run, "q")
    run.until = lambda condition, *_: (  # type: ignore[method-assign]
        course._handle("q"),
        condition(),
    )[1]
    course.end()
    assert run.done == ["stop"]


def test_services_that_do_not_answer_are_said():
    run = FakeRun()

    def refuse() -> None:
        raise httpx2.ConnectError("refused")

    run.faults.take_payment_down = refuse
    typing(run, "p")
    assert run.said == ["the services did not take it: refused"]
