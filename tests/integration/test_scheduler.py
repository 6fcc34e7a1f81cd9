"""The Scheduler and agent processes with messages lost, doubled and refused."""

from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import override_settings

from tests.alerts import text_of
from tests.integration.conftest import begin, only
from tests.toyflow import agents as toy
from workers import scheduler, supervisor
from workers.client.submission import submit
from workers.conf import sas
from workers.definitions.agent import Call
from workers.definitions.registry import register_workflow
from workers.definitions.workflow import Workflow, step
from workers.exceptions import Permanent, Transient
from workers.models import Alert, Flow, Lease, Process, Step, Worker
from workers.runtime.repeated_lines import RepeatedLines
from workers.store import leases
from workers.store.claims import claim_steps
from workers.store.db import dialect
from workers.testing import forget_duties, pass_time
from workers.testing.agent_processes import CALL
from workers.testing.agent_processes import room as anywhere
from workers.wire import dispatch


@pytest.mark.fault("F11")
def test_wake_ups_that_the_broker_refuses_cost_time_and_nothing_else(wire):
    wire.is_down = True
    process = submit("toy_line", subject="Toy 1", input={})
    scheduler.advance()

    one = only(process, "one")
    assert (one.state, one.attempt, one.failure_count) == ("pending", 0, 0)
    wire.is_down = False
    wire.run_until_idle()
    assert set(wire.states(process).values()) == {"processed"}


@pytest.mark.fault("F6")
def test_every_lost_wake_up_is_made_up_for_by_the_poll(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    scheduler.advance()
    assert wire.drop_all() == 1

    pass_time(20)
    scheduler.advance()
    wire.run_until_idle()

    assert set(wire.states(process).values()) == {"processed"}
    assert list(Step.objects.values_list("failure_count", "attempt")) == [(0, 1), (0, 1)]


@pytest.mark.fault("F6")
def test_a_lost_reply_costs_one_attempt_and_never_an_effect(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    begin(wire)
    wire.deliver_all(CALL)
    wire.drop_all()

    pass_time(40)
    supervisor.sweep()
    pass_time(10)
    wire.run_until_idle()

    assert set(wire.states(process).values()) == {"processed"}
    one = only(process, "one")
    assert (one.failure_count, one.attempt) == (1, 2)
    assert len(set(toy.calls["toy.alpha"])) == 1


@pytest.mark.fault("F7")
def test_every_message_doubled_has_every_step_run_once(wire):
    process = submit("toy_diamond", subject="Toy 1", input={})
    scheduler.advance()
    assert [one.task for one in wire.messages] == [dispatch.TAKE]

    while wire.messages:
        message = wire.messages[0]
        wire.deliver(message)
        if message.task != CALL:
            wire.deliver(message)

    assert set(wire.states(process).values()) == {"processed"}
    assert len(toy.calls["toy.alpha"]) == len(set(toy.calls["toy.alpha"])) == 2
    assert len(toy.calls["toy.beta"]) == len(set(toy.calls["toy.beta"])) == 2


def test_a_transient_fault_heals_by_itself(wire):
    def fail_twice(call: Call) -> dict[str, Any]:
        if call.attempt < 3:
            raise Transient("http_500", "oops")
        return {}

    toy.script["toy.alpha"] = fail_twice
    process = submit("toy_line", subject="Toy 1", input={})

    for _ in range(3):
        wire.run_until_idle()
        pass_time(600)

    assert set(wire.states(process).values()) == {"processed"}
    assert only(process, "one").failure_count == 2
    assert not Alert.objects.exists()


def test_a_refusal_goes_to_the_fallback_agent(wire):
    def refuse(call: Call) -> dict[str, Any]:
        raise Permanent("no_route", "cannot deliver there", no_effect=True)

    toy.script["toy.alpha"] = refuse
    process = submit("toy_fallback", subject="Toy 1", input={})

    wire.run_until_idle()

    step_row = only(process, "ship")
    assert (step_row.state, step_row.agent, step_row.result) == (
        "processed",
        "toy.beta",
        {"by": "toy.beta"},
    )


def test_what_may_kill_its_worker_is_called_alone(wire):
    """A call that kills its worker must not take the same others with it again and again."""
    for number in range(6):
        submit("toy_line", subject=f"Toy {number}", input={})
    failed = Step.objects.filter(name="one", process__subject__in=["Toy 1", "Toy 4"])
    failed.update(failure_count=2, fault={"kind": "expired", "code": "expired", "message": "m"})

    begin(wire)

    calls = [[work.request.step_id for work in one.works] for one in wire.of(CALL)]
    assert sorted(map(len, calls)) == [1, 1, 4]
    alone = {ids[0] for ids in calls if len(ids) == 1}
    assert alone == set(failed.values_list("pk", flat=True))


def test_a_request_builder_that_fails_ends_its_step_and_no_other(wire):
    def broken(order: Any, results: Any) -> Any:
        return {"x": order["missing"]}

    register_workflow(Workflow("toy_broken", 1, (step("one", "toy.alpha", request=broken),)))
    bad = submit("toy_broken", subject="Bad", input={})
    good = submit("toy_line", subject="Good", input={})

    wire.run_until_idle()

    assert wire.states(bad) == {"one": "error"}
    assert only(bad, "one").fault["code"] == "request_builder_failed"
    assert set(wire.states(good).values()) == {"processed"}


def test_a_process_that_stands_still_is_carried_on(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    # As if the last transaction had been lost in part, which no code of ours can do.
    Process.objects.filter(pk=process.pk).update(state="processing", finished_at=None)
    Step.objects.filter(process=process, name="two").update(state="waiting", result=None)
    forget_duties()

    wire.run_until_idle()

    assert set(wire.states(process).values()) == {"processed"}


@pytest.fixture
def looked(monkeypatch) -> list[Any]:
    """Return the looks for due steps, as they come."""
    look, found = claim_steps.claim_due, []

    def watched(*args: Any, **options: Any) -> Any:
        found.append(args)
        return look(*args, **options)

    monkeypatch.setattr(claim_steps, "claim_due", watched)
    return found


@pytest.mark.parametrize(
    ("waiting", "looks"), [(0, 1), (1, 1), (4, 2), (5, 2), (8, 3)], ids=lambda n: f"{n}"
)
def test_due_steps_are_looked_for_again_only_where_there_may_be_more(waiting, looks, wire, looked):
    for number in range(waiting):
        submit("toy_line", subject=f"Toy {number}", input={})

    with override_settings(SAS_CLAIM_BATCH=4):
        assert len(scheduler.take_due({"toy.alpha"}, anywhere())) == waiting

    assert len(looked) == looks


def test_where_there_is_no_room_due_steps_are_looked_for_once(wire, looked):
    submit("toy_line", subject="Toy", input={})
    Flow.objects.update(window=0)

    assert scheduler.take_due({"toy.alpha"}, anywhere()) == []

    assert len(looked) == 1


def test_the_poll_looks_for_standing_processes_once_per_interval(wire):
    assert leases.is_due(leases.POLL, 5)
    assert not leases.is_due(leases.POLL, 5)
    Lease.objects.update(performed_at=None)
    assert leases.is_due(leases.POLL, 5)


def test_a_supervisor_without_the_lease_does_nothing(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    begin(wire)
    wire.deliver_all(CALL)
    wire.drop_all()
    pass_time(40)
    assert leases.acquire(leases.SWEEP, "another supervisor", sas.lease_seconds)

    assert supervisor.sweep() == supervisor.SweepResult(had_lease=False)

    assert only(process, "one").failure_count == 0
    assert leases.release(leases.SWEEP, "another supervisor")
    assert supervisor.sweep().reset == 1


@pytest.mark.fault("F21")
def test_a_lease_that_is_over_goes_to_the_next(wire):
    assert leases.acquire(leases.SWEEP, "first", 15)
    assert not leases.acquire(leases.SWEEP, "second", 15)
    Lease.objects.update(expires_at="2026-01-01T00:00Z")

    assert leases.acquire(leases.SWEEP, "second", 15)
    assert not leases.release(leases.SWEEP, "first")
    assert Lease.objects.get(name=leases.SWEEP).holder == "second"


@pytest.mark.fault("F16")
def test_a_sweep_after_an_outage_extends_before_it_counts(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    supervisor.sweep()
    begin(wire)
    wire.deliver_all(CALL)
    pass_time(40)
    Lease.objects.update(performed_at="2026-01-01T00:00Z")

    swept = supervisor.sweep()

    assert (swept.extended, swept.reset) == (1, 0)
    wire.run_until_idle()
    assert set(wire.states(process).values()) == {"processed"}
    assert only(process, "one").failure_count == 0


@pytest.mark.fault("F20")
def test_overdue_duties_are_triggered_with_one_alert(wire):
    from workers.supervisor import beat_watchdog

    supervisor.sweep()
    scheduler.advance()
    assert beat_watchdog.look() == []
    Lease.objects.update(performed_at="2026-01-01T00:00Z")

    assert beat_watchdog.look() == ["sweep", "poll"]
    beat_watchdog.look()

    assert [sent.task for sent in wire.messages] == [dispatch.SWEEP, dispatch.ADVANCE] * 2
    assert list(Alert.objects.values_list("code", "times").order_by("id")) == [
        ("duty_overdue", 2),
        ("duty_overdue", 2),
    ]


def test_an_overdue_duty_is_logged_once_and_once_more_for_another_cause(wire, monkeypatch, caplog):
    from workers.store import alerts
    from workers.supervisor import beat_watchdog

    clock = [1000.0]
    monkeypatch.setattr("workers.runtime.repeated_lines.monotonic", lambda: clock[0])
    monkeypatch.setattr(alerts, "_lines", RepeatedLines())

    def logged() -> list[str]:
        for late in range(3):
            moment = f"2026-01-01T00:00:0{late}Z"
            Lease.objects.filter(name__in=["sweep", "poll"]).update(performed_at=moment)
            beat_watchdog.look()
        said = [vars(one)["params"] for one in caplog.records if one.message == "alert_raised"]
        caplog.clear()
        return [one["duty"] for one in said]

    supervisor.sweep()
    scheduler.advance()

    once = logged()
    assert len(once) == 2
    assert logged() == []
    monkeypatch.setattr(beat_watchdog.queue_drain, "count", lambda queue: 3)
    assert len(logged()) == 2
    clock[0] += 301
    assert len(logged()) == 2
    assert [one.times for one in Alert.objects.all()] == [12, 12]


def test_a_timer_that_meets_no_database_says_so_in_a_line(monkeypatch, caplog):
    from workers.supervisor import beat_watchdog

    timer = beat_watchdog.OverdueTimer(None)

    def away() -> None:
        timer.stop(None)
        raise OperationalError("connection failed: refused\n\tIs the server running?\n")

    monkeypatch.setattr(beat_watchdog, "look", away)
    monkeypatch.setattr(beat_watchdog, "LOOK_SECONDS", 0.0)
    # The test's own connection stays.
    monkeypatch.setattr(beat_watchdog, "connections", Mock())

    timer._watch()

    said = [(one.message, vars(one)["reason"]) for one in caplog.records]
    assert said == [("overdue_timer_failed", "connection failed: refused")]


@pytest.mark.parametrize(
    ("waiting", "held_for", "said", "unsaid"),
    [
        (0, None, "is Celery Beat running", "busy"),
        (3, None, "no live worker reads sas.supervisor, where 3 messages wait", "Beat"),
        (0, 3, "A worker is running it", "Beat"),
        (0, 1, "is Celery Beat running", "at it"),
        (None, None, "The broker does not answer", "Beat"),
    ],
    ids=["nobody asked", "nobody listens", "under way", "just begun", "no broker"],
)
def test_an_overdue_duty_blames_only_what_is_known_to_be_at_fault(
    waiting, held_for, said, unsaid, wire, monkeypatch
):
    from workers.supervisor import beat_watchdog
    from workers.wire import queue_drain

    monkeypatch.setattr(queue_drain, "count", lambda queue: waiting)
    supervisor.sweep()
    scheduler.advance()
    Lease.objects.filter(name="sweep").update(performed_at="2026-01-01T00:00Z")
    if held_for is not None:
        since = dialect.read_clock() - timedelta(seconds=held_for)
        leases.acquire("sweep", "supervisor@there:1", sas.lease_seconds, since)

    assert beat_watchdog.look() == ["sweep"]

    message = text_of(Alert.objects.get())
    assert said in message
    assert unsaid not in message


@pytest.mark.parametrize(
    ("queues", "seen_before", "said"),
    [
        (["sas.supervisor"], 1, "the workers that read sas.supervisor are busy: 3 messages"),
        (["sas.agents"], 1, "no live worker reads sas.supervisor"),
        (["sas.supervisor"], 9, "no live worker reads sas.supervisor"),
    ],
    ids=["busy", "of another queue", "vanished"],
)
def test_a_busy_worker_is_told_from_none(wire, monkeypatch, queues, seen_before, said):
    from workers.supervisor import beat_watchdog
    from workers.wire import queue_drain

    monkeypatch.setattr(queue_drain, "count", lambda queue: 3)
    supervisor.sweep()
    scheduler.advance()
    Lease.objects.filter(name="sweep").update(performed_at="2026-01-01T00:00Z")
    seen_at = dialect.read_clock() - timedelta(seconds=seen_before)
    Worker.objects.create(run="one", name="w", queues=queues, processes=1, seen_at=seen_at)

    beat_watchdog.look()

    assert said in text_of(Alert.objects.get())
