"""Shifts: what an agent process takes, calls and settles until it is idle again."""

import threading
from contextlib import nullcontext
from datetime import timedelta
from time import monotonic
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import override_settings

from tests.integration.conftest import NOW, only, reread, rows
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import call_pool, shift
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.agent import Call
from workers.exceptions import Transient
from workers.models import Flow, Journal, Process, Step
from workers.runtime import worker_pulse
from workers.store.claims import claim_steps
from workers.store.claims.claim_steps import Room
from workers.store.flow import holds
from workers.testing.scripted_agents import OneByOne
from workers.wire import dispatch, queue_drain


@pytest.fixture(autouse=True)
def unknown_paces() -> None:
    call_pool._paces().clear()


def lines(count: int) -> list[Process]:
    return [submit("toy_line", subject=f"Toy {n}", input={}) for n in range(count)]


def room(calls: int, *, is_idle: bool = False, is_for_one: bool = False) -> Room:
    return Room("agent@test", lambda agent: calls, is_idle=is_idle, is_for_one=is_for_one)


def begun() -> shift.Shift:
    """Return a shift that has taken what is due."""
    one = shift.Shift("sas.agents")
    one.look_for_due()
    one.take_due()
    return one


def held_call(toy_agent: str) -> tuple[threading.Event, threading.Event]:
    """Have calls of an agent wait; return what says that one has begun, and what lets them go."""
    has_begun, may_end = threading.Event(), threading.Event()

    def wait(call: Call) -> dict[str, Any]:
        has_begun.set()
        may_end.wait(10)
        return {}

    toy.script[toy_agent] = wait
    return has_begun, may_end


# What it settles and goes on with


def test_a_lone_order_ends_in_the_process_that_was_woken_for_it(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    wire.drop_all()

    shift.take("sas.agents")

    assert reread(process).state == "processed"


def test_claim_and_start_are_one_write(wire):
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    here = room(1)

    (claim,) = claim_steps.claim_due({"toy.alpha"}, here, NOW)

    step = only(process, "one")
    assert (step.state, step.attempt, step.claim_id) == ("processing", 1, claim.claim_id)
    assert (step.started_at, step.complete_by) == (NOW, NOW + timedelta(seconds=30))
    assert (step.locked_by, step.delivery) == ("agent@test", here.delivery)
    assert (step.may_have_effect, step.began_at, step.key_used_at) == (True, NOW, NOW)
    assert Journal.objects.filter(event="claimed", step=step).count() == 1


@pytest.mark.parametrize("name", ["is_serial", "is_local"])
def test_serial_and_local_steps_go_on_in_their_process(name, wire, monkeypatch):
    """Each next step starts in the write that settles the one before."""
    # Not in a thread, whose connection would stay open, but on the test's own connection.
    monkeypatch.setattr(call_pool, "threads", OneByOne())
    monkeypatch.setattr(shift.db_connections, "kept", nullcontext)
    for agent in (toy.Alpha, toy.Beta, toy.Gamma):
        monkeypatch.setattr(agent, name, True)
    (process,) = lines(1)

    shift.take("sas.agents")

    assert set(wire.states(process).values()) == {"processed"}


def test_a_step_of_a_queue_served_elsewhere_wakes_that_queue(wire, monkeypatch):
    (process,) = lines(1)
    wire.drop_all()
    monkeypatch.setattr(toy.Beta, "queue", "sas.agents.slow")

    shift.take("sas.agents")

    assert [one.body for one in wire.of(dispatch.TAKE)] == [["sas.agents.slow"]]
    assert only(process, "two").state == "pending"


def test_a_fault_is_settled_here_and_waits_for_its_backoff(wire):
    def fail(call: Call) -> dict[str, Any]:
        raise Transient("busy", "not now")

    toy.script["toy.alpha"] = fail
    (process,) = lines(1)

    shift.take("sas.agents")

    step = only(process, "one")
    assert (step.state, step.failure_count) == ("pending", 1)


def test_replies_that_cannot_be_settled_here_are_filed(wire, monkeypatch):
    (process,) = lines(1)
    one = begun()

    with monkeypatch.context() as patched:
        patched.setattr(scheduler, "settle", Mock(side_effect=ValueError("a fault of ours")))
        one.work()

    assert only(process, "one").reply is not None
    wire.run_until_idle()
    assert reread(process).state == "processed"


# Room


def test_no_more_is_taken_than_there_is_room_for(wire):
    lines(7)
    here = room(3)

    claims = claim_steps.claim_due({"toy.alpha"}, here)

    assert len(claims) == Step.objects.filter(started_at__isnull=False).count() == 3
    assert here.is_used_up
    assert not claims.is_to_go_on


def test_a_window_that_is_full_is_no_reason_to_wake_others(wire):
    lines(7)
    Flow.objects.filter(agent="toy.alpha").update(window=3)
    here = room(5)

    assert len(claim_steps.claim_due({"toy.alpha"}, here)) == 3

    assert not here.is_used_up


@pytest.mark.parametrize("obstacle", ["hold", "window", "breaker", "paused"])
def test_what_holds_a_claim_up_holds_taking_up(obstacle, wire):
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    flow = Flow.objects.filter(agent="toy.alpha")
    if obstacle == "hold":
        holds.hold("agent", "toy.alpha", actor="ann", reason="r", now=NOW)
    elif obstacle == "window":
        flow.update(window=0)
    elif obstacle == "breaker":
        flow.update(forced="open")
    else:
        Process.objects.filter(pk=process.pk).update(paused_at=NOW)
    before = rows()

    assert claim_steps.claim_due({"toy.alpha"}, room(5), NOW) == []

    assert rows() == before


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_other_processes_are_woken_for_what_there_is_no_room_for(wire, pulse):
    _, may_end = held_call("toy.alpha")
    lines(3)
    wire.drop_all()

    one = begun()

    assert Step.objects.filter(name="one", started_at__isnull=False).count() == 2
    assert [sent.body for sent in wire.of(dispatch.TAKE)] == [["sas.agents"]]
    may_end.set()
    one.work()


@pytest.mark.parametrize("is_full", [True, False])
def test_a_wake_up_is_left_to_a_process_with_room(is_full, wire, pulse, offered):
    one = shift.Shift("sas.agents")
    one._look_at = 0.0
    one._calls.room = lambda agent: 0 if is_full else 1  # type: ignore[method-assign]
    offered.append(dispatch.TAKE)

    one._take_messages()

    assert offered == ([dispatch.TAKE] if is_full else [])


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_a_full_process_asks_the_database_for_nothing(wire, pulse, monkeypatch):
    _, may_end = held_call("toy.alpha")
    lines(3)
    one = begun()
    one._due = {"toy.alpha"}
    taking = Mock()
    monkeypatch.setattr(scheduler, "take_due", taking)

    one.take_due()

    taking.assert_not_called()
    assert one._due == {"toy.alpha"}
    # Somebody else may have room.
    assert wire.of(dispatch.TAKE)
    monkeypatch.undo()
    may_end.set()
    one.work()


def test_quick_calls_make_room_for_more(wire, settings):
    settings.SAS_BUNDLE_LIMIT, settings.SAS_BUNDLE_DEPTH = 4, 16
    agent, calls = registry.agent("toy.alpha"), call_pool.Calls(lambda work: None)
    rooms = []
    for pace in (None, 0.001, 0.01, 1.0):
        if pace is not None:
            call_pool._paces()["toy.alpha"] = pace
        rooms.append(calls.room(agent))

    assert rooms == [4, 16, 10, 4]


def test_an_agent_that_names_its_limit_holds_no_more(wire):
    call_pool._paces()["toy.beta"] = 0.00001

    assert call_pool.Calls(lambda work: None).room(registry.agent("toy.beta")) == 5


def test_a_process_holds_one_call_of_a_local_agent_until_its_calls_are_known_to_be_quick(
    wire, monkeypatch
):
    monkeypatch.setattr(toy.Alpha, "is_local", True)
    agent, calls = registry.agent("toy.alpha"), call_pool.Calls(lambda work: None)

    assert calls.room(agent) == 1

    call_pool._paces()["toy.alpha"] = 0.005
    assert calls.room(agent) == 5


# When it takes no more


def test_a_broker_that_gives_no_answer_is_left_alone_for_a_while(wire, pulse, offered, monkeypatch):
    looks: list[str] = []

    def silent(queue: str, tasks: Any) -> None:
        looks.append(queue)
        if len(looks) == 2:
            may_end.set()

    monkeypatch.setattr(queue_drain, "take_one", silent)
    monkeypatch.setattr(shift, "PAUSE_SECONDS", 0.2)
    _, may_end = held_call("toy.alpha")
    (process,) = lines(1)
    began = monotonic()

    shift.take("sas.agents")

    # It looks at once, and again after the pause.
    assert monotonic() - began >= 0.2
    assert len(looks) >= 2
    assert set(wire.states(process).values()) == {"processed"}


def test_a_wake_up_is_worked_on_by_a_process_whose_call_waits(wire, pulse, offered):
    _, may_end = held_call("toy.alpha")
    toy.script["toy.beta"] = lambda call: may_end.set() or {}  # type: ignore[func-returns-value]
    lines(1)
    one = begun()
    other = submit("toy_line", subject="Toy 2", input={})
    Step.objects.filter(process=other, name="one").update(agent="toy.beta")
    offered.append(dispatch.TAKE)

    one.work()

    assert offered == []
    assert set(wire.states(other).values()) == {"processed"}


def test_messages_of_other_roles_are_worked_on_beside_a_call(wire, pulse, offered, caplog):
    pulse.queues = ("sas.agents", "sas.scheduler", "sas.supervisor")
    _, may_end = held_call("toy.alpha")
    lines(1)
    offered += [dispatch.ADVANCE, dispatch.SWEEP]
    done: list[str] = []

    def advance() -> None:
        done.append("advance")
        raise ValueError("a fault of ours")

    def sweep() -> None:
        done.append("sweep")
        may_end.set()

    shift.take("sas.agents", {dispatch.ADVANCE: advance, dispatch.SWEEP: sweep})

    assert done == ["advance", "sweep"]
    assert "role_failed" in caplog.text


@pytest.mark.parametrize("why", ["stopped", "silent", "long", "overdue"])
def test_a_process_takes_no_more(why, wire, pulse, monkeypatch):
    one = shift.Shift("sas.agents")
    lines(1)
    if why == "stopped":
        pulse.stop()
    elif why == "silent":
        now = worker_pulse.monotonic()
        monkeypatch.setattr(
            worker_pulse, "monotonic", lambda: now + worker_pulse.SILENT_SECONDS + 1
        )
    elif why == "long":
        one._began -= shift.TAKING_SECONDS + 1
    else:
        monkeypatch.setattr(one._calls, "has_overdue", lambda: True)

    assert one._room().left("toy.beta") == 0
    one.look_for_due()
    one.take_due()
    assert not Step.objects.filter(started_at__isnull=False).exists()


@pytest.mark.parametrize(
    ("queues", "seconds"),
    [
        (("sas.agents",), shift.TAKING_SECONDS),
        (("sas.agents", "sas.scheduler", "sas.supervisor"), shift.TAKING_SECONDS),
        (("celery", "sas.agents"), shift.BESIDE_OTHERS_SECONDS),
    ],
)
def test_a_worker_of_the_application_s_queues_takes_for_a_moment(queues, seconds, pulse):
    pulse.queues = queues

    assert shift.Shift("sas.agents")._taking_seconds == seconds
