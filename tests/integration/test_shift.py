"""Shifts: what an agent process calls, takes and passes on while its calls go on."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest
from django.db import OperationalError
from django.test import override_settings

from tests.integration.conftest import NOW, only, rows
from tests.integration.test_runtime import bundle_of, replies_on, submitted
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import call_pool, runner, shift
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.agent import Call
from workers.definitions.effects import Effect
from workers.exceptions import Transient
from workers.models import Flow, Journal, Process, Step
from workers.protocol.messages import Bundle
from workers.runtime import worker_pulse
from workers.store.claims import claim_steps
from workers.store.claims.claim_steps import Room
from workers.store.flow import holds
from workers.testing import Wire
from workers.wire import dispatch, queue_drain

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def unknown_paces() -> None:
    call_pool._paces().clear()


@pytest.fixture
def pulse(monkeypatch: pytest.MonkeyPatch) -> worker_pulse.Pulse:
    """The pulse of a worker that serves agents alone, with one process."""
    pulse = worker_pulse.Pulse()
    pulse.queues = ("sas.agents",)
    pulse.beat()
    monkeypatch.setattr(worker_pulse, "pulse", pulse)
    return pulse


def lines(count: int) -> list[Process]:
    return [submit("toy_line", subject=f"Toy {n}", input={}) for n in range(count)]


def room(calls: int) -> Room:
    return Room("agent@test", lambda agent: calls)


# What it settles and goes on with


def test_a_lone_order_ends_in_the_process_that_was_woken_for_it(wire: Wire) -> None:
    process = submit("toy_line", subject="Toy 1", input={})
    wire.drop_all()

    shift.take("sas.agents")

    process.refresh_from_db()
    assert process.state == "processed"
    assert wire.of(dispatch.RUN_BUNDLE) == replies_on(wire) == []


def test_claim_and_start_are_one_write(wire: Wire) -> None:
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    here = room(1)

    (claim,) = claim_steps.claim_due({"toy.alpha"}, "scheduler", NOW, own_room=here)

    step = only(process, "one")
    assert claim.is_started
    assert (step.state, step.attempt, step.claim_id) == ("processing", 1, claim.claim_id)
    assert (step.started_at, step.complete_by) == (NOW, NOW + timedelta(seconds=30))
    assert (step.locked_by, step.delivery) == ("agent@test", here.delivery)
    assert (step.may_have_effect, step.began_at, step.key_used_at) == (True, NOW, NOW)
    assert Journal.objects.filter(event="claimed", step=step).count() == 1


def test_a_message_s_claims_go_on_in_its_process(wire: Wire) -> None:
    processes = lines(3)
    scheduler.advance()
    (message,) = wire.of(dispatch.RUN_BUNDLE)
    wire.drop_all()

    shift.run(Bundle.from_wire(message.body[0]))

    assert {wire.states(one)["two"] for one in processes} == {"processed"}
    assert wire.of(dispatch.RUN_BUNDLE) == replies_on(wire) == []


@pytest.mark.parametrize(
    ("name", "value"), [("queue", "sas.agents.slow"), ("is_serial", True), ("is_local", True)]
)
def test_a_step_of_another_queue_or_in_the_main_thread_is_sent(
    name: str, value: object, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = submitted()
    bundle = bundle_of(wire)
    monkeypatch.setattr(toy.Beta, name, value)

    shift.run(bundle)

    assert bundle_of(wire).requests[0].step == "two"
    assert only(process, "two").started_at is None


def test_an_agent_with_a_rate_is_called_by_message(wire: Wire) -> None:
    process = submitted()
    bundle = bundle_of(wire)
    Flow.objects.filter(agent="toy.beta").update(rate_per_second=10)

    shift.run(bundle)

    assert bundle_of(wire).is_rated
    assert only(process, "two").started_at is None


def test_what_may_kill_its_process_is_not_taken(wire: Wire) -> None:
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    fault = {"kind": "expired", "code": "worker_died", "message": "m"}
    Step.objects.filter(process=process, name="one").update(failure_count=2, fault=fault)

    (claim,) = claim_steps.claim_due({"toy.alpha"}, "scheduler", NOW, own_room=room(5))

    assert (claim.is_started, claim.is_alone) == (False, True)


def test_a_fault_is_settled_here_and_waits_for_its_backoff(wire: Wire) -> None:
    def fail(call: Call) -> dict[str, Any]:
        raise Transient("busy", "not now")

    toy.script["toy.alpha"] = fail
    process = submitted()

    shift.run(bundle_of(wire))

    step = only(process, "one")
    assert (step.state, step.failure_count) == ("pending", 1)
    assert replies_on(wire) == []


@pytest.mark.parametrize("error", [OperationalError("away"), ValueError("a fault of ours")])
def test_replies_that_cannot_be_settled_here_are_sent(
    error: Exception, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = submitted()
    bundle = bundle_of(wire)

    def fail(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(scheduler, "settle", fail)
        shift.run(bundle)

    assert len(replies_on(wire)) == 1
    wire.run_until_idle()
    process.refresh_from_db()
    assert process.state == "processed"


def test_an_unsafe_reply_is_filed_before_it_is_settled_here(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toy.Alpha, "effect", Effect.UNSAFE)
    process = submitted()

    shift.run(bundle_of(wire))

    assert Journal.objects.filter(event="reply_filed", process=process).count() == 1
    assert set(wire.states(process).values()) == {"processed"}


def test_without_taking_all_replies_are_sent_and_nothing_goes_on(wire: Wire) -> None:
    process = submitted()

    assert shift.perform(bundle_of(wire)) == 1

    assert (only(process, "one").state, only(process, "two").state) == ("processing", "waiting")
    assert len(replies_on(wire)) == 1


# Room


def test_no_more_is_taken_than_there_is_room_for(wire: Wire) -> None:
    lines(7)

    claims = claim_steps.claim_due({"toy.alpha"}, "scheduler", None, own_room=room(3))

    assert sum(claim.is_started for claim in claims) == 3
    assert Step.objects.filter(started_at__isnull=False).count() == 3


@pytest.mark.parametrize("obstacle", ["hold", "window", "breaker", "paused"])
def test_what_holds_a_claim_up_holds_taking_up(obstacle: str, wire: Wire) -> None:
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

    assert claim_steps.claim_due({"toy.alpha"}, "scheduler", NOW, own_room=room(5)) == []

    assert rows() == before


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_what_there_is_no_room_for_is_passed_on(wire: Wire) -> None:
    lines(3)
    scheduler.advance()
    sent = [Bundle.from_wire(one.body[0]) for one in wire.of(dispatch.RUN_BUNDLE)]
    wire.drop_all()
    both = Bundle("toy.alpha", 30, sent[0].requests + sent[1].requests)

    shift.perform(both)

    (passed,) = wire.of(dispatch.RUN_BUNDLE)
    assert passed.requests == [request.to_wire() for request in both.requests[2:]]
    assert Step.objects.filter(name="one", started_at__isnull=False).count() == 2


def test_quick_calls_make_room_for_more(wire: Wire, settings: Any) -> None:
    settings.SAS_BUNDLE_LIMIT, settings.SAS_BUNDLE_DEPTH = 4, 16
    agent, calls = registry.agent("toy.alpha"), call_pool.Calls(lambda work: None)
    rooms = []
    for pace in (None, 0.001, 0.01, 1.0):
        if pace is not None:
            call_pool._paces()["toy.alpha"] = pace
        rooms.append(calls.room(agent))

    assert rooms == [4, 16, 10, 4]


def test_an_agent_that_names_its_limit_holds_no_more(wire: Wire) -> None:
    call_pool._paces()["toy.beta"] = 0.00001

    assert call_pool.Calls(lambda work: None).room(registry.agent("toy.beta")) == 5


# When it takes no more


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, list[Any]]]]:
    """Messages that wait in the agents' queue."""
    waiting: list[tuple[str, list[Any]]] = []

    def take_one(queue: str, accepts: dict[str, Callable[[list[Any]], bool]]) -> bool:
        for message in list(waiting):
            if accepts[message[0]](message[1]):
                waiting.remove(message)
                return True
        return False

    monkeypatch.setattr(queue_drain, "take_one", take_one)
    monkeypatch.setattr(shift, "LEAST_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(shift, "LOOK_SECONDS", 0.0)
    return waiting  # type: ignore[return-value]


def held_call(toy_agent: str) -> tuple[threading.Event, threading.Event]:
    """Have calls of an agent wait; return what says that one has begun, and what lets them go."""
    begun, may_end = threading.Event(), threading.Event()

    def wait(call: Call) -> dict[str, Any]:
        begun.set()
        may_end.wait(10)
        return {}

    toy.script[toy_agent] = wait
    return begun, may_end


def test_a_broker_that_gives_no_answer_is_left_alone_for_a_while(
    wire: Wire, pulse: worker_pulse.Pulse, offered: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def silent(queue: str, accepts: Any) -> None:
        looks.append(queue)
        if len(looks) == 2:
            may_end.set()

    monkeypatch.setattr(queue_drain, "take_one", silent)
    monkeypatch.setattr(shift, "PAUSE_SECONDS", 0.2)
    _, may_end = held_call("toy.alpha")
    (process,) = lines(1)
    scheduler.advance()
    began = monotonic()

    shift.run(Bundle("toy.alpha", 30, (bundle_of(wire).requests[0],)))

    # It looks at once, and again after the pause.
    assert monotonic() - began >= 0.2
    assert len(looks) >= 2
    assert set(wire.states(process).values()) == {"processed"}


def test_a_process_whose_call_waits_takes_another_message(
    wire: Wire, pulse: worker_pulse.Pulse, offered: list[Any]
) -> None:
    _, may_end = held_call("toy.alpha")
    first, second = lines(2)
    scheduler.advance()
    bundle = bundle_of(wire)
    parts = [Bundle("toy.alpha", 30, (one,)) for one in bundle.requests]
    offered.append((dispatch.RUN_BUNDLE, [parts[1].to_wire()]))
    real = runner.start

    def start(agent: Any, requests: Any, one: Any) -> Any:
        if requests[0] == parts[1].requests[0]:
            # The second is begun while the first one waits; then both may end.
            may_end.set()
        return real(agent, requests, one)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runner, "start", start)
        shift.run(parts[0])

    assert offered == []
    assert [set(wire.states(one).values()) for one in (first, second)] == [{"processed"}] * 2


def test_a_wake_up_is_worked_on_by_a_process_whose_call_waits(
    wire: Wire, pulse: worker_pulse.Pulse, offered: list[Any]
) -> None:
    _, may_end = held_call("toy.alpha")
    toy.script["toy.beta"] = lambda call: may_end.set() or {}  # type: ignore[func-returns-value]
    submitted()
    bundle = bundle_of(wire)
    other = submit("toy_line", subject="Toy 2", input={})
    Step.objects.filter(process=other, name="one").update(agent="toy.beta")
    wire.drop_all()
    offered.append((dispatch.TAKE, ["sas.agents"]))

    shift.run(bundle)

    assert offered == []
    assert set(wire.states(other).values()) == {"processed"}


@override_settings(SAS_BUNDLE_LIMIT=1)
def test_a_message_without_room_goes_back(
    wire: Wire, pulse: worker_pulse.Pulse, offered: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = shift.Shift("sas.agents", takes=True)
    lines(2)
    scheduler.advance()
    first, second = [Bundle.from_wire(sent.body[0]) for sent in wire.of(dispatch.RUN_BUNDLE)]
    _, may_end = held_call("toy.alpha")
    one.begin(first)

    assert one._accept([second.to_wire()]) is False

    may_end.set()
    one.work()
    assert not Step.objects.get(pk=second.requests[0].step_id).started_at


@pytest.mark.parametrize("why", ["stopped", "silent", "long", "alone", "serial"])
def test_a_process_takes_no_more(
    why: str, wire: Wire, pulse: worker_pulse.Pulse, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = shift.Shift("sas.agents", takes=True, is_alone=why == "alone")
    submitted()
    bundle = bundle_of(wire)
    if why == "stopped":
        pulse.stop()
    elif why == "silent":
        now = worker_pulse.monotonic()
        monkeypatch.setattr(
            worker_pulse, "monotonic", lambda: now + worker_pulse.SILENT_SECONDS + 1
        )
    elif why == "long":
        one._began -= shift.TAKING_SECONDS + 1
    elif why == "serial":
        monkeypatch.setattr(toy.Alpha, "is_serial", True)
        assert one._accept([bundle.to_wire()])

    assert not one._is_taking()
    assert one._room().left("toy.beta") == 0
    assert one.take_due() is False


@pytest.mark.parametrize(
    ("queues", "seconds"),
    [
        (("sas.agents",), shift.TAKING_SECONDS),
        (("sas.agents", "sas.scheduler"), shift.BESIDE_OTHERS_SECONDS),
        (("celery", "sas.agents"), shift.BESIDE_OTHERS_SECONDS),
    ],
)
def test_a_worker_of_other_queues_takes_for_a_moment(
    queues: tuple[str, ...], seconds: float, pulse: worker_pulse.Pulse
) -> None:
    pulse.queues = queues

    assert shift.Shift("sas.agents", takes=True)._taking_seconds == seconds


def test_what_runs_alone_waits_for_the_calls_of_its_process(
    wire: Wire, pulse: worker_pulse.Pulse, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, other = submitted(), submit("toy_line", subject="Toy 2", input={})
    bundle = bundle_of(wire)
    Step.objects.filter(process=other, name="one").update(agent="toy.gamma")
    scheduler.advance()
    serial = bundle_of(wire)
    monkeypatch.setattr(toy.Gamma, "is_serial", True)
    one = shift.Shift("sas.agents", takes=True)
    order: list[str] = []
    _, may_end = held_call("toy.alpha")
    toy.script["toy.gamma"] = lambda call: order.append("serial") or {}  # type: ignore[func-returns-value]
    one.begin(bundle)
    assert one._accept([serial.to_wire()])
    assert order == []
    toy.script["toy.alpha"] = lambda call: {}
    may_end.set()

    one.work()

    assert order == ["serial"]
    assert only(process, "one").state == "processed"
