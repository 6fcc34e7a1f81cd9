"""Running until nothing is due: time passes, and the system is there all along."""

from datetime import timedelta

import pytest
from django.test import override_settings

from tests.testing_kit.conftest import NOON
from workers import scheduler, supervisor
from workers.client import operations
from workers.client.submission import submit
from workers.exceptions import Permanent, Transient, Unavailable
from workers.models import Flow, Journal, Process, Step
from workers.testing import (
    WorkerDied,
    always,
    assert_invariants,
    assert_processed,
    broken_wire,
    delays,
    dies,
    drops,
    passes,
    scripted,
)
from workers.wire import dispatch


def toy_line() -> Process:
    return submit("toy_line", subject="Toy 1", input={})


def only(process: Process, name: str) -> Step:
    return Step.objects.get(process=process, name=name)


def seconds(event: str) -> list[float]:
    """Return when an event happened, in seconds since noon."""
    instants = Journal.objects.filter(event=event).order_by("id").values_list("at", flat=True)
    return [(at - NOON).total_seconds() for at in instants]


def test_result_arrives_as_from_a_broker(wire, clock):
    process = toy_line()

    with scripted({"toy.alpha": [{"n": (1, 2)}]}, otherwise={}):
        wire.run_until_settled(clock)

    assert_processed(process)
    assert only(process, "one").result == {"n": [1, 2]}


def test_without_trouble_no_time_passes_but_a_last_poll(wire, clock):
    process = toy_line()

    wire.run_until_settled(clock)

    assert_processed(process)
    assert set(Journal.objects.values_list("at", flat=True)) == {NOON}
    assert clock.now == NOON + timedelta(seconds=5)


def test_a_backoff_is_waited_for_and_not_longer(wire, clock):
    process = toy_line()

    with scripted({"toy.alpha": [Unavailable("http_503", "busy"), Transient("http_500", "oops")]}):
        wire.run_until_settled(clock)

    assert_processed(process)
    assert seconds("claimed") == [0, 2, 4, 4]


def test_an_expired_step_is_swept_after_its_grace_and_a_jump_is_no_outage(wire, clock):
    process = toy_line()
    # A sweep in the past: the next one would take a jump for a gap, and extend the deadline.
    supervisor.sweep()

    with scripted({"toy.alpha": [dies]}):
        wire.run_until_settled(clock)

    assert_processed(process)
    assert seconds("expired") == [31.001]


@override_settings(SAS_EXPIRY_GRACE_SECONDS=20)
def test_a_long_grace_is_swept_through(wire, clock):
    toy_line()
    supervisor.sweep()

    with scripted({"toy.alpha": [dies]}):
        wire.run_until_settled(clock)

    assert seconds("expired") == [50.001]


def test_what_has_been_due_for_long_is_swept_before_anything_jumps(wire, clock):
    """Also where the next instant at which something is due is far away."""
    submit("toy_waiting", subject="Toy 2", input={})
    with scripted({"toy.alpha": [Permanent("http_404", "gone")]}):
        wire.run_until_idle()
    process = submit("toy_parallel", subject="Toy 1", input={})
    with scripted({"toy.alpha": [dies]}):
        wire.run_until_idle()
        clock.advance(seconds=60)
        wire.run_until_settled(clock)

    assert_processed(process)
    assert seconds("expired") == [60]


def test_a_lost_wake_up_is_made_up_for_by_a_poll(wire, clock):
    process = toy_line()

    with broken_wire(wire, [drops, drops]):
        wire.run_until_settled(clock)

    assert_processed(process)
    assert seconds("claimed") == [10, 10]
    assert only(process, "one").attempt == 1


def test_calls_that_died_with_their_process_expire(wire, clock):
    process = toy_line()
    supervisor.sweep()
    scheduler.advance()
    wire.deliver_all(dispatch.TAKE)
    wire.drop_all()

    wire.run_until_settled(clock)

    assert_processed(process)
    assert seconds("expired") == [31.001]


def test_an_open_breaker_is_waited_for(wire, clock):
    process = toy_line()
    Flow.objects.filter(agent="toy.alpha").update(
        unavailable_streak=10, opened_at=NOON, open_until=NOON + timedelta(seconds=30)
    )

    wire.run_until_settled(clock)

    assert_processed(process)
    assert seconds("claimed") == [30, 30]


def test_hours_pass_for_a_step_that_waits_long(wire, clock):
    process = submit("toy_waiting", subject="Toy 1", input={})

    with scripted({"toy.alpha": [Permanent("http_404", "gone")]}):
        wire.run_until_settled(clock)

    assert_processed(process)
    assert seconds("claimed") == [0, 7200]


def test_what_only_a_poll_finds_is_found(wire, clock):
    process = toy_line()
    with scripted({"toy.alpha": [dies]}):
        wire.run_until_idle()
    # As nothing in the store would leave it: its first step is done, and nobody went on.
    Step.objects.filter(process=process, name="one").update(
        state="processed",
        result={},
        claim_id=None,
        locked_by=None,
        started_at=None,
        complete_by=None,
        delivery=None,
        finished_at=NOON,
    )

    wire.run_until_settled(clock)

    assert_processed(process)


def test_a_process_in_error_is_an_end(wire, clock):
    process = toy_line()

    with scripted({"toy.alpha": [always(Transient("http_500", "oops"))]}) as calls:
        wire.run_until_settled(clock)

    assert Process.objects.get(pk=process.pk).state == "error"
    assert [call.attempt for call in calls] == [1, 2, 3]
    operations.resubmit(process.pk, actor="operator:ann", reason="it is back")
    wire.run_until_settled(clock)
    assert_processed(process)
    assert_invariants()


def test_run_that_never_settles_fails_and_names_its_wait_reason(wire, clock):
    toy_line()
    wire.is_down = True

    with pytest.raises(AssertionError) as caught:
        wire.run_until_settled(clock, jumps=5)

    assert "after 5 jumps" in str(caught.value)
    assert "a step of agent toy.alpha is due; the next poll wakes" in str(caught.value)
    assert "The wire is down." in str(caught.value)


def test_a_step_that_fails_for_ever_is_named(wire, clock):
    toy_line()

    with (
        scripted({"toy.alpha": [always(Unavailable("http_503", "busy"))]}),
        pytest.raises(AssertionError, match="Toy 1: one is pending, not before"),
    ):
        wire.run_until_settled(clock, jumps=5)


@pytest.mark.parametrize(
    ("passed", "claims"), [(1.9, 1), (2, 2), (3600, 3)], ids=["before", "at", "long after"]
)
def test_running_for_a_time_does_what_is_due_by_then(wire, clock, passed, claims):
    toy_line()

    with scripted({"toy.alpha": [Unavailable("http_503", "busy"), {}]}):
        wire.run_for(clock, seconds=passed)

    assert clock.now == NOON + timedelta(seconds=passed)
    assert Journal.objects.filter(event="claimed").count() == (claims if passed < 2 else 3)


def test_running_for_a_time_is_no_outage(wire, clock):
    toy_line()
    supervisor.sweep()

    with scripted({"toy.alpha": [dies]}):
        wire.run_for(clock, seconds=40)

    assert seconds("expired") == [31.001]


def test_moving_the_clock_alone_is_an_outage(wire, clock):
    process = toy_line()
    supervisor.sweep()
    with scripted({"toy.alpha": [dies]}):
        wire.run_until_idle()

    clock.advance(seconds=40)

    assert supervisor.sweep().extended == 1
    assert only(process, "one").complete_by == NOON + timedelta(seconds=50)


def test_a_worker_that_died_over_a_message_has_it_delivered_again(wire):
    runs: list[None] = []

    def dies_at_first() -> None:
        runs.append(None)
        if len(runs) == 1:
            raise WorkerDied

    wire.tasks["workers.toy"] = dies_at_first
    wire.take("workers.toy", [], "a queue")
    (message,) = wire.messages

    wire.deliver(message)
    assert wire.messages == [message]
    wire.deliver(message)

    assert (wire.messages, len(runs)) == ([], 2)


def test_a_process_that_died_in_a_call_does_not_come_back(wire, clock):
    process = toy_line()

    with scripted({"toy.alpha": [dies]}) as calls:
        wire.run_until_idle()

    assert wire.messages == []
    assert len(calls) == 1
    assert only(process, "one").state == "processing"


def test_a_call_whose_time_has_passed_is_not_begun(wire, clock):
    process = toy_line()
    supervisor.sweep()

    with scripted({}) as calls, broken_wire(wire, [passes, delays(32)]):
        wire.run_until_settled(clock)

    assert_processed(process)
    assert [call.attempt for call in calls] == [2, 1]
