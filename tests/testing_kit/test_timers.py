"""Timers: every instant at which the rows say that something will happen is come to."""

from datetime import timedelta

import pytest

from tests.testing_kit.conftest import NOON
from workers.client import operations
from workers.client.submission import submit
from workers.definitions.agent import Deferred
from workers.exceptions import Unavailable
from workers.models import Flow, Journal, Process
from workers.rules.rate_limit import REFILL, SAVED_UP
from workers.testing import always, assert_processed, assert_undone, scripted
from workers.wire import dispatch


def seconds(event: str) -> list[float]:
    """Return when an event happened, in seconds since noon."""
    instants = Journal.objects.filter(event=event).order_by("id").values_list("at", flat=True)
    return [(at - NOON).total_seconds() for at in instants]


def test_a_process_s_own_deadline_is_come_to(wire, clock):
    process = submit("toy_dated", subject="Toy 1", input={})

    with scripted({"toy.beta": [always(Unavailable("http_503", "busy", retry_after=9000))]}):
        wire.run_until_settled(clock)

    assert_undone(process)
    assert seconds("compensating") == [3600]


def test_deferred_step_without_answer_is_escalated_and_then_expires(wire, clock):
    process = submit("toy_answered", subject="Toy 1", input={})
    asked = Deferred(600, escalate_after_seconds=100, is_asked_once=True)

    with scripted({"toy.alpha": [asked]}, otherwise={}):
        wire.run_until_settled(clock)

    assert seconds("escalated") == [100]
    assert seconds("expired") == [601.001]
    assert Process.objects.get(pk=process.pk).state == "error"


def test_a_rate_is_waited_for_and_no_thread_looks_in_real_time(wire, clock, monkeypatch):
    monkeypatch.setattr(dispatch._look, "_timer", None)
    Flow.objects.filter(agent="toy.alpha").update(rate_per_second=1)
    for n in range(3):
        submit("toy_fallback", subject=f"Toy {n}", input={})

    wire.run_until_settled(clock)

    # One call at once and a little saved up, and then what the bucket gains.
    first = (1 - SAVED_UP) / REFILL
    assert seconds("claimed") == pytest.approx([0, first, first + 1 / REFILL], abs=0.01)


def test_a_paused_process_is_no_reason_to_let_time_pass(wire, clock):
    process = submit("toy_line", subject="Toy 1", input={})
    with scripted({"toy.alpha": [Unavailable("http_503", "busy", retry_after=3600)]}):
        wire.run_until_idle()
    operations.pause(process.pk, actor="operator:ann", reason="wait")

    wire.run_until_settled(clock)

    assert clock.now == NOON + timedelta(seconds=5)
    operations.resume(process.pk, actor="operator:ann", reason="go on")
    wire.run_until_settled(clock)
    assert_processed(process)
