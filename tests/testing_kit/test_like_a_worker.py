"""The kit looks as often as a worker does, for whatever nobody sends a message of."""

import threading
from typing import Any
from unittest.mock import Mock

import pytest

from tests.toyflow import agents as toy
from workers import Call, find_step
from workers.client.submission import submit
from workers.models import Flow, Process
from workers.supervisor import beat_schedule
from workers.testing import assert_processed, scripted


@pytest.mark.usefixtures("clock")
def test_what_a_local_call_submits_is_begun_without_time_passing(wire):
    """Its wake-up waits for a commit, which a test's own transaction never makes."""
    toy.script["toy.writer"] = lambda call: submit("toy_line", subject="Child", input={}) and {}
    submit("toy_local", subject="Parent", input={})

    wire.run_until_idle()

    for process in Process.objects.all():
        assert_processed(process)


def test_an_end_that_was_held_back_is_tried_again_at_each_poll(wire, clock):
    hear = Mock(side_effect=[RuntimeError("one"), RuntimeError("two"), None])
    toy.script["on_end"] = hear
    process = submit("toy_heard", subject="Toy", input={})

    wire.run_until_settled(clock)

    assert hear.call_count == 3
    assert_processed(process)


def test_in_a_time_it_is_polled_as_often_as_by_a_worker(wire, clock):
    def refuse_twice_and_begin_another(end: object) -> None:
        if hear.call_count < 3:
            raise RuntimeError("not yet")
        if hear.call_count == 3:
            submit("toy_line", subject="Next", input={})

    hear = Mock(side_effect=refuse_twice_and_begin_another)
    toy.script["on_end"] = hear
    submit("toy_heard", subject="Toy", input={})

    wire.run_for(clock, seconds=30)

    assert sorted(Process.objects.values_list("subject", "state")) == [
        ("Next", "processed"),
        ("Toy", "processed"),
    ]


def test_an_end_that_is_always_held_back_is_named(wire, clock):
    toy.script["on_end"] = Mock(side_effect=RuntimeError("never"))
    submit("toy_heard", subject="Toy", input={})

    with pytest.raises(AssertionError, match="Toy has not ended; the next poll tries again"):
        wire.run_until_settled(clock, jumps=5)


def test_many_that_wait_for_a_rate_come_to_an_end(wire, clock, monkeypatch):
    monkeypatch.setattr("workers.testing.wire.FEWEST_JUMPS", 5)
    beat_schedule.ensure_flow()
    Flow.objects.filter(agent="toy.gamma").update(rate_per_second=2)
    for number in range(20):
        submit("toy_narrow", subject=f"Toy {number}", input={})

    with scripted({}, otherwise={}):
        wire.run_until_settled(clock)

    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}


def test_calls_are_made_inside_the_test_s_own_transaction(wire):
    """Without ``scripted``, too: else its rows outlive the test, and it sees none of the test's."""
    seen: list[object] = []

    def look(call: Call) -> dict[str, Any]:
        step = find_step(call.key)
        assert step is not None
        seen.append((threading.current_thread(), call.process, step.process_id))
        return {}

    toy.script["toy.alpha"] = look
    process = submit("toy_line", subject="Toy", input={})

    wire.run_until_idle()

    assert seen == [(threading.current_thread(), process.pk, process.pk)]
