"""Recovery depends on nothing but itself: a duty that raises holds up no other, and says so."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import OperationalError, ProgrammingError

from tests.alerts import text_of
from tests.integration.conftest import NOW, claim, only
from workers import scheduler, supervisor
from workers.client.submission import submit
from workers.definitions.sentences import in_words, say
from workers.desk import states, wake_ups
from workers.desk import tasks as desk_tasks
from workers.desk.models import ProbeResult
from workers.desk.operate import examinations, health, rounds
from workers.desk.store import deliveries, delivery_plans, incidents, jobs, probe_results
from workers.models import Alert, Lease, Step
from workers.ops.doctor import duties as probes
from workers.ops.doctor.finding import Finding, Level, error
from workers.ops.doctor.registry import Need, Probe
from workers.scheduler import look
from workers.store import (
    alert_resolution,
    duties,
    leases,
    live_workers,
    schedules,
    worker_alerts,
)
from workers.store.child_groups import groups
from workers.store.duties import When
from workers.store.expire import expire_claims
from workers.store.flow import open_breakers
from workers.store.leases import Failure
from workers.supervisor import beat_watchdog
from workers.testing import Wire
from workers.testing.clock import Clock
from workers.wire import dispatch

DENIED = "permission denied for table desk_incident"


def denied(*_args: object, **_kwargs: object) -> None:
    raise ProgrammingError(f"{DENIED}\nDETAIL: key (email)=(ann@example.org)")


#: What each registered duty calls first, where it can be made to fail.
SWEEP_CALLS = {
    "breaker_alerts": (open_breakers, "alert_long_open"),
    states.INCIDENT_COLLECTION: (incidents, "collect"),
    "alert_closing": (alert_resolution, "resolve_ended"),
    states.INCIDENT_REFRESH: (incidents, "refresh"),
    states.DELIVERY_PLANNING: (delivery_plans, "plan"),
    "report_requests": (deliveries, "seconds_waiting"),
    "figure_requests": (health, "is_due"),
}
#: The same of a poll, which the Scheduler's own follow.
POLL_CALLS = {
    "schedules": (schedules, "due"),
    "job_requests": (jobs, "needs_runner"),
    "child_groups": (groups, "active"),
    "worker_alerts": (worker_alerts, "tell"),
    "definition_alerts": (worker_alerts, "tell_unknown_definitions"),
    "gone_workers": (live_workers, "forget_gone"),
}


@pytest.fixture(autouse=True)
def none_rests(monkeypatch) -> None:
    """Have the duties of what this installation does not use performed as well."""
    monkeypatch.setattr(duties, "_rests", {})


def expired_claim(clock: Clock, wire: Wire) -> Step:
    """Leave a step whose claim is past its deadline."""
    process = submit("toy_line", subject="Toy 1", input={})
    claim(NOW)
    clock.advance(seconds=32)
    wire.messages.clear()
    return only(process, "one")


@pytest.mark.parametrize("broken", SWEEP_CALLS)
def test_recovery_and_every_other_duty_go_on(broken, clock, wire, monkeypatch):
    step = expired_claim(clock, wire)
    module, name = SWEEP_CALLS[broken]
    monkeypatch.setattr(module, name, denied)

    assert supervisor.sweep().reset == 1

    step.refresh_from_db()
    assert (step.state, step.failure_count) == ("pending", 1)
    assert dispatch.ADVANCE in [message.task for message in wire.messages]
    rows = {row.name: row for row in Lease.objects.filter(name__in=[leases.SWEEP, *SWEEP_CALLS])}
    assert rows.keys() == {leases.SWEEP, *SWEEP_CALLS}
    assert [name for name, row in rows.items() if row.performed_at is None] == [broken]
    kept = rows[broken]
    at = NOW + timedelta(seconds=32)
    assert (kept.failures, kept.holder, kept.failed_at) == (1, None, at)
    assert kept.error == f"ProgrammingError: {DENIED}"


@pytest.mark.parametrize("raised", [ProgrammingError, OperationalError])
def test_recovery_goes_on_though_every_registered_duty_raises(raised, clock, wire, monkeypatch):
    def fail(_lease: leases.HeldLease) -> None:
        raise raised

    broken = [*duties.registered(When.SWEEP), *duties.registered(When.POLL)]
    for name, (when, _function) in list(duties._registered.items()):
        monkeypatch.setitem(duties._registered, name, (when, fail))
    step = expired_claim(clock, wire)

    assert supervisor.sweep().reset == 1
    assert dispatch.ADVANCE in [message.task for message in wire.messages]
    clock.advance(seconds=60)
    assert scheduler.advance() == 1
    wire.deliver_all(dispatch.TAKE)

    step.refresh_from_db()
    assert (step.state, step.failure_count) == ("processing", 1)
    at = dict(Lease.objects.values_list("name", "performed_at"))
    assert at[leases.SWEEP] == NOW + timedelta(seconds=32)
    assert at[leases.POLL] == at["gone_workers"] == clock.now
    assert [failure.name for failure in leases.failing(least=1)] == sorted(broken)


def test_the_duties_are_those_that_are_tried_here_in_this_order():
    assert list(duties.registered(When.SWEEP)) == list(SWEEP_CALLS)
    polled = duties.registered(When.POLL) | look._own_duties(None)
    assert list(polled) == list(POLL_CALLS)


def test_what_recovery_raises_is_raised_when_operators_can_be_told(clock, wire, monkeypatch):
    monkeypatch.setattr(expire_claims, "look", denied)
    with pytest.raises(ProgrammingError):
        supervisor.sweep()
    assert Lease.objects.get(name=states.INCIDENT_COLLECTION).performed_at == NOW
    assert leases.failing(least=1) == [
        Failure(leases.SWEEP, 1, f"ProgrammingError: {DENIED}", None)
    ]


def test_recovered_duty_resets_failures_and_keeps_last_error(clock, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(incidents, "collect", denied)
        supervisor.sweep()
    supervisor.sweep()
    row = Lease.objects.get(name=states.INCIDENT_COLLECTION)
    assert (row.failures, row.performed_at) == (0, NOW)
    assert DENIED in row.error
    assert leases.failing(least=1) == []


def test_an_interruption_is_no_failure():
    with pytest.raises(SystemExit), leases.held("toy", "me", 10):
        raise SystemExit
    assert Lease.objects.get(name="toy").failures == 0


def test_the_watchdog_tells_of_a_duty_that_raises_again_and_again(clock, wire, monkeypatch):
    scheduler.advance()
    monkeypatch.setattr(incidents, "collect", denied)
    for _ in range(leases.FAILURES_BEFORE_ALERT - 1):
        supervisor.sweep()
    assert beat_watchdog.look() == []
    assert not Alert.objects.exists()
    supervisor.sweep()
    assert beat_watchdog.look() == []
    (alert,) = Alert.objects.all()
    assert alert.cause == "duty_overdue:incident_collection"
    assert text_of(alert) == f"The incident_collection raises: ProgrammingError: {DENIED}."


def test_a_late_sweep_that_raises_says_so_and_does_not_blame_beat(clock, wire, monkeypatch):
    supervisor.sweep()
    monkeypatch.setattr(expire_claims, "look", denied)
    clock.advance(seconds=60)
    with pytest.raises(ProgrammingError):
        supervisor.sweep()
    assert leases.SWEEP in beat_watchdog.look()
    text = text_of(Alert.objects.get(cause="duty_overdue:sweep"))
    assert f"raises: ProgrammingError: {DENIED}." in text
    assert "Beat" not in text

    found = [finding.what for finding in probes.sweep_and_poll_are_performed()]
    assert not any("sweep" in what for what in found)
    (raising,) = probes.none_raises()
    assert (raising.level, DENIED in raising.what) == (Level.WARNING, True)


def test_figures_that_raise_hold_up_no_doctor(monkeypatch):
    asked: list[None] = []
    monkeypatch.setattr(examinations, "is_due", lambda: True)
    monkeypatch.setattr(wake_ups.EXAMINE, "send", lambda: asked.append(None))
    monkeypatch.setattr(health, "run", denied)
    with pytest.raises(ProgrammingError):
        desk_tasks.keep_health()
    assert asked == [None]


def test_round_of_the_doctor_that_raises_is_a_failure_of_its_duty(monkeypatch):
    monkeypatch.setattr(rounds, "look_over", denied)
    with pytest.raises(ProgrammingError):
        examinations.run()
    assert Lease.objects.get(name=examinations.DOCTOR).failures == 1


@pytest.mark.parametrize(
    "finding",
    [
        error(say("no room in %(folder)s", folder=Path("/srv")), "why", "remedy"),
        error(say("it is %(ratio)s", ratio=float("nan")), "why", "remedy"),
        error(say("it has %(names)s", names={"a", "b"}), "why", "remedy"),
        error(say("file %(name)s", name="x\udcff\x00"), "why", "remedy"),
        error("plain \x00 text", "why", "remedy"),
        Finding(Level.ERROR, 7),  # type: ignore[arg-type]
        Finding("dreadful", "a level of its own"),  # type: ignore[arg-type]
        "no finding at all",
    ],
)
def test_one_bad_finding_loses_no_round(finding):
    wanted = [
        Probe("toys", "odd", lambda: [finding], Need.NOTHING),
        Probe("toys", "even", lambda: [error("even", "why", "remedy")], Need.NOTHING),
    ]
    probe_results.keep(rounds.look(wanted))
    kept = dict(ProbeResult.objects.values_list("name", "level"))
    assert kept == {"toys.odd": "error", "toys.even": "error"}


def test_a_parameter_of_any_kind_is_said_in_its_own_words():
    finding = error(say("no room in %(folder)s", folder=Path("/srv")), "why", "remedy")
    probe_results.keep(rounds.look([Probe("toys", "odd", lambda: [finding], Need.NOTHING)]))
    (kept,) = ProbeResult.objects.get().findings
    assert in_words(kept["what"]) == "no room in /srv"


@pytest.mark.parametrize("broken", POLL_CALLS)
def test_a_poll_carries_on_whatever_it_cannot_tell(broken, clock, monkeypatch):
    module, name = POLL_CALLS[broken]
    monkeypatch.setattr(module, name, denied)

    scheduler.advance()

    names = {leases.POLL, *POLL_CALLS}
    rows = {row.name: row for row in Lease.objects.filter(name__in=names)}
    assert rows.keys() == names
    assert [name for name, row in rows.items() if row.performed_at is None] == [broken]
    assert rows[broken].error == f"ProgrammingError: {DENIED}"
