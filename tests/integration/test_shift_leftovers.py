"""What a process cannot take or hand over is looked at again, or told to others, never dropped."""

from time import monotonic
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import override_settings
from django.utils import timezone
from kombu import Connection, exceptions
from msgspec.structs import replace

from tests.integration.conftest import claim, only
from tests.integration.test_shift import begun, held_call, lines, room
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import call_pool, shift
from workers.models import Process, Step
from workers.protocol.messages import Reply
from workers.store.claims import claim_steps, request_data
from workers.store.locked import load
from workers.testing import Wire
from workers.wire import dispatch, queue_drain


@pytest.fixture
def later(monkeypatch) -> list[float]:
    """In how many seconds processes were to be woken."""
    found: list[float] = []
    monkeypatch.setattr(dispatch, "wake_agents_after", lambda _, seconds: found.append(seconds))
    return found


def busy(wire: Wire, *others: str) -> tuple[shift.Shift, list[Process], Any]:
    """Return a shift with a call of toy.beta under way, other due orders, and what ends it."""
    _, may_end = held_call("toy.beta")
    first, *rest = lines(1 + len(others))
    for process, agent in zip([first, *rest], ["toy.beta", *others], strict=True):
        Step.objects.filter(process=process, name="one").update(agent=agent)
    one = shift.Shift("sas.agents")
    one._due = {"toy.beta"}
    one.take_due()
    wire.drop_all()
    return one, rest, may_end


def test_due_steps_are_taken_while_the_broker_gives_no_answer(wire, pulse, monkeypatch):
    one, (due,), may_end = busy(wire, "toy.alpha")
    monkeypatch.setattr(queue_drain, "take_one", Mock(return_value=None))
    one._look_at = 0.0

    one._go_on()

    assert only(due, "one").started_at is not None
    assert one._look_at > monotonic()
    may_end.set()
    one.work()


def test_calls_under_way_outlive_requests_that_cannot_be_built(wire, pulse, monkeypatch):
    one, (due,), may_end = busy(wire, "toy.alpha")
    one.look_for_due()
    with monkeypatch.context() as patched:
        patched.setattr(request_data, "material", Mock(side_effect=OperationalError("gone")))
        one.take_due()
    assert one._rest_until > monotonic()
    one._rest_until = 0.0
    may_end.set()

    one.work()

    wire.run_until_idle()
    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
    assert only(due, "one").failure_count == 0


@pytest.mark.parametrize("began_ago", [0, 640])
def test_a_step_that_needs_more_than_this_process_has_is_told_to_others(
    wire, pulse, monkeypatch, began_ago
):
    """It must run alone, or takes longer than this shift has left."""
    monkeypatch.setattr(toy.Gamma, "is_serial", not began_ago)
    one, (due,), may_end = busy(wire, "toy.gamma")
    one._began -= began_ago
    one._taking_seconds += began_ago
    one.look_for_due()

    one.take_due()

    assert only(due, "one").state == "pending"
    assert wire.of(dispatch.TAKE)
    may_end.set()
    one.work()


@override_settings(SAS_BUNDLE_LIMIT=1)
def test_others_are_woken_later_where_they_have_just_been_woken(wire, pulse, later):
    call_pool._paces().clear()
    _, may_end = held_call("toy.alpha")
    lines(2)
    one = begun()
    one._wake_others_at = monotonic() + 0.2
    one.look_for_due()

    one.take_due()

    assert 0 < later[-1] <= 0.2
    may_end.set()
    one.work()


def test_two_calls_that_run_alone_are_both_made(wire, pulse):
    """Replies that are settled apart may start one each."""
    lines(2)
    claims = claim(timezone.now())
    one = shift.Shift("sas.agents")
    for found in claims:
        one._begin([replace(found, is_alone=True)], one._room(), monotonic())
    assert one._room().left("toy.beta") == 0

    one.work()

    assert len(toy.calls["toy.alpha"]) == 2


def test_filed_reply_whose_process_is_held_is_looked_at_again(wire, monkeypatch):
    asked: list[float] = []
    monkeypatch.setattr(dispatch, "wake_scheduler_after", asked.append)
    lines(1)
    (found,) = claim(timezone.now())
    monkeypatch.setattr(load, "lock_of", lambda *_args, **_options: [])

    scheduler.settle([Reply(found.step_id, found.claim_id, 1, result={}, is_filed=True)])

    assert len(asked) == 1


def test_a_step_whose_process_another_session_holds_is_looked_at_again(wire, monkeypatch):
    lines(1)
    real = claim_steps._due
    # What a lock that is skipped leaves.
    monkeypatch.setattr(claim_steps, "_due", lambda *args: real(*args) if args[3:] else [])
    here = room(5)

    assert claim_steps.claim_due({"toy.alpha", "toy.beta"}, here) == []

    assert here.rate_seconds == claim_steps.HELD_SECONDS


@override_settings(SAS_SETTLE_BATCH=2)
def test_more_decisions_than_one_batch_need_no_poll(wire):
    lines(6)
    Process.objects.update(needs_decision=True)

    wire.drop_all()

    scheduler.advance()

    assert Process.objects.filter(needs_decision=True).count() == 4
    assert wire.of(dispatch.ADVANCE)


def test_a_shift_whose_claims_fail_leaves_its_work_for_after_the_rest(wire, monkeypatch, later):
    lines(1)
    wire.drop_all()
    with monkeypatch.context() as patched:
        patched.setattr(claim_steps, "claim_due", Mock(side_effect=OperationalError("timeout")))
        begun().work()

    assert not wire.of(dispatch.TAKE)
    assert 0.5 < later[0] <= shift.PAUSE_SECONDS


def test_a_shift_that_ends_leaves_its_work_to_every_queue_it_serves(wire, monkeypatch):
    woken: list[str] = []
    monkeypatch.setattr(dispatch, "wake_agents_later", woken.append)
    monkeypatch.setattr(shift.Shift, "_queues", lambda _: ["sas.agents", "sas.other"])
    one = shift.Shift("sas.agents")
    one._due = {"toy.alpha"}

    one.work()

    assert woken == ["sas.agents", "sas.other"]


def test_a_flagged_process_that_is_held_is_looked_at_again(wire, monkeypatch):
    asked: list[float] = []
    monkeypatch.setattr(dispatch, "wake_scheduler_after", asked.append)
    lines(1)
    Process.objects.update(needs_decision=True)
    monkeypatch.setattr(load, "lock", lambda *_args, **_options: [])

    scheduler.advance()

    assert len(asked) == 1


def test_a_process_closes_for_no_longer_than_the_longest_call(wire, monkeypatch):
    def leave(_agents: set[str], room: claim_steps.Room) -> list[claim_steps.Claim]:
        room.lone_seconds = 5000.0
        return []

    monkeypatch.setattr(scheduler, "take_due", leave)
    closes = Mock()
    monkeypatch.setattr(shift.Shift, "_begin_to_close", closes)

    begun()

    closes.assert_called_once_with(shift.MOST_CLOSING_SECONDS)


def test_a_look_at_a_silent_broker_is_the_rarer_the_longer_it_takes(wire, pulse, monkeypatch):
    one, clock = shift.Shift("sas.agents"), [monotonic() + 60]

    def say_nothing(*_: Any) -> None:
        clock[0] += 2.0

    monkeypatch.setattr(shift, "monotonic", lambda: clock[0])
    monkeypatch.setattr(queue_drain, "take_all", say_nothing)

    one._take_messages()

    assert one._look_at == clock[0] + 8.0


def test_a_broker_that_refuses_is_asked_once_more_at_once(monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr("kombu.utils.functional.sleep", slept.append)
    monkeypatch.setattr(
        queue_drain.current_app,
        "connection_for_read",
        lambda **options: Connection("amqp://guest:guest@127.0.0.1:1//", **options),
    )

    with pytest.raises(exceptions.OperationalError):
        queue_drain._Channel().get()

    assert sum(slept) == 0.0
