"""Shifts and steps that wait for a process to themselves, for time, or for a token of a rate."""

from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from unittest.mock import Mock

import pytest
from django.utils import timezone

from tests.factories import put
from tests.integration.conftest import only
from tests.integration.test_shift import begun, held_call, lines, room
from tests.toyflow import agents as toy
from workers.agent import shift
from workers.models import Flow, Process, Step
from workers.runtime import worker_pulse
from workers.store.claims import claim_steps
from workers.wire import dispatch

# A call that has its process to itself


def suspect(process: Process) -> None:
    """Have the next failure of the first step be its last, after it fell silent."""
    fault = {"kind": "expired", "code": "worker_died", "message": "m"}
    Step.objects.filter(process=process, name="one").update(failure_count=2, fault=fault)


def serial(process: Process) -> None:
    Step.objects.filter(process=process, name="one").update(agent="toy.gamma")


@pytest.fixture(params=[suspect, serial])
def lone(request, wire, monkeypatch) -> tuple[Process, Process]:
    """Two processes; the first step of the first one has to run alone."""
    make: Callable[[Process], None] = request.param
    monkeypatch.setattr(toy.Gamma, "is_serial", True)
    first, second = lines(2)
    make(first)
    return first, second


EVERYONE = {"toy.alpha", "toy.beta", "toy.gamma"}


def test_an_idle_process_takes_it_and_nothing_beside_it(lone):
    claims = claim_steps.claim_due(EVERYONE, room(5, is_idle=True, is_for_one=True))

    assert [(one.process_id, one.is_alone) for one in claims] == [(lone[0].pk, True)]


def test_a_busy_process_leaves_it_and_takes_the_others(lone):
    here = room(5)

    claims = claim_steps.claim_due(EVERYONE, here)

    assert [(one.process_id, one.is_alone) for one in claims] == [(lone[1].pk, False)]
    assert here.lone_seconds is not None


def test_no_younger_step_takes_its_place_in_the_window(wire):
    first, _second = lines(2)
    suspect(first)
    Flow.objects.filter(agent="toy.alpha").update(window=1)

    assert claim_steps.claim_due({"toy.alpha"}, room(5)) == []

    (claim,) = claim_steps.claim_due({"toy.alpha"}, room(5, is_idle=True))
    assert claim.process_id == first.pk


def test_a_process_that_finds_it_takes_nothing_until_it_is_idle(lone, wire, pulse):
    order: list[str] = []
    _, may_end = held_call("toy.beta")
    Step.objects.filter(process=lone[1], name="one").update(agent="toy.beta")
    one = shift.Shift("sas.agents")
    one._due = {"toy.beta"}
    one.take_due()
    for name in ("toy.alpha", "toy.gamma"):
        toy.script[name] = lambda call: order.append(call.step) or {}  # type: ignore[func-returns-value]

    one.look_for_due()
    one.take_due()

    assert one._room().left("toy.alpha") == 0
    assert only(lone[0], "one").started_at is None
    may_end.set()
    one.work()
    assert order[0] == "one"
    assert set(wire.states(lone[0]).values()) == {"processed"}


def test_it_gives_up_after_a_while_for_another_process_to_try(lone, pulse):
    _, may_end = held_call("toy.beta")
    Step.objects.filter(process=lone[1], name="one").update(agent="toy.beta")
    one = shift.Shift("sas.agents")
    one._due = {"toy.beta"}
    one.take_due()
    one.look_for_due()
    one.take_due()
    assert one._closes_until > monotonic()
    one._closes_until = monotonic()

    one._close()

    assert one._room().left("toy.alpha") > 0
    one.take_due()
    assert one._closes_until == 0.0
    may_end.set()
    one.work()


def test_one_process_of_a_worker_closes_at_a_time(pulse):
    assert pulse.close(2)
    assert pulse.close(2)

    pulse._closing[:] = worker_pulse._CLOSING.pack(1, monotonic() + 60)

    assert not pulse.close(2)
    pulse._closing[:] = worker_pulse._CLOSING.pack(1, monotonic() - 1)
    assert pulse.close(2)


def test_a_step_that_needs_more_time_than_is_left_ends_the_shift(wire, pulse):
    """The next one has all its time."""
    (process,) = lines(1)
    put(Step.objects.filter(process=process, name="one"), timeout_seconds=600)
    wire.drop_all()
    one = shift.Shift("sas.agents")
    one._began -= 100

    one.look_for_due()
    one.take_due()
    one._go_on()
    one.work()

    assert only(process, "one").started_at is None
    assert [sent.body for sent in wire.of(dispatch.TAKE)] == [["sas.agents"]]
    shift.take("sas.agents")
    assert only(process, "one").state == "processed"


# A rate


def allow(*, tokens: float, a_second: float) -> None:
    """Set a rate, and the tokens that are left; time brings none."""
    Flow.objects.filter(agent="toy.alpha").update(
        rate_per_second=a_second, tokens=tokens, refilled_at=timezone.now() + timedelta(days=1)
    )


def test_a_call_s_token_is_spent_in_the_write_of_its_claim(wire):
    lines(3)
    allow(tokens=1.3, a_second=10)
    here = room(5)

    (claim,) = claim_steps.claim_due({"toy.alpha"}, here)

    assert claim.is_rated
    assert Flow.objects.get(agent="toy.alpha").tokens == pytest.approx(0.3)
    assert here.rate_seconds == pytest.approx(0.7 / 9.5)


@pytest.mark.parametrize("tokens", [0, 1])
def test_who_has_no_token_left_looks_again_once_some_are_there(tokens, wire, pulse):
    (process,) = lines(1)
    _, may_end = held_call("toy.alpha")
    allow(tokens=tokens, a_second=100)
    lines(2)
    began = monotonic()

    one = begun()

    assert (only(process, "one").started_at is not None) == bool(tokens)
    assert 2.5 / 95 <= one._token_at - began < 2.5 / 95 + 0.2
    may_end.set()
    one.work()


def test_a_process_with_no_room_does_not_wait_for_a_token_that_is_there(wire, pulse, monkeypatch):
    """It would wait for no time at all, over and over, for as long as its calls take."""
    lines(1)
    _, may_end = held_call("toy.alpha")
    one = begun()
    monkeypatch.setattr(one._calls, "room", lambda agent: 0)
    one._token_at = monotonic()

    one._go_on()
    # However long that took here, its next look at its parent is not due.
    one._look_at = monotonic() + 10

    assert one._seconds_to_wait() > 0.0
    assert "toy.alpha" in one._due
    may_end.set()
    one.work()


def test_a_shift_that_ends_leaves_a_wake_up_for_the_next_token(wire, pulse, monkeypatch):
    lines(1)
    allow(tokens=0, a_second=2)
    after = Mock()
    monkeypatch.setattr(dispatch, "wake_agents_after", after)

    shift.take("sas.agents")

    ((queue, seconds),) = [call.args for call in after.call_args_list]
    assert queue == "sas.agents"
    assert 0.04 < seconds <= 0.6
