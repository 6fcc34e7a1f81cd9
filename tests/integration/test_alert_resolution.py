"""An alert closes with its cause: each code has a cause that stands, and one that has ended."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.alerts import text_of
from tests.factories import AlertFactory, ProcessFactory, SinkFactory, StepFactory
from workers import supervisor
from workers.definitions import alert_kinds
from workers.definitions.alert_kinds import alert_kind
from workers.desk.store import alert_commands
from workers.models import Alert, Flow, Lease, Process, Step
from workers.store import alert_resolution, alerts, sinks
from workers.store.alert_resolution import resolve_ended

NOW = timezone.now()
HOUR = timedelta(hours=1)


def stuck(process: dict[str, Any] | None = None, **step: Any) -> Step:
    found: Step = StepFactory(process=ProcessFactory(**(process or {"state": "error"})), **step)
    return found


def raised(code: str, step: Step | None = None, at: datetime = NOW, **columns: Any) -> Alert:
    about = {"process": step.process, "step": step} if step else {}
    given = {"cause": f"{code}:{step.pk if step else ''}", **about, **columns}
    return AlertFactory(code=code, message="Look", raised_at=at, **given)


def over(step: Step, state: str = "processed") -> None:
    """End the process of a step."""
    Process.objects.filter(pk=step.process_id).update(
        state=state, finished_at=NOW, outcome=state if state != "processed" else None
    )


def moved(**columns: Any) -> Callable[[Step], object]:
    return lambda step: Step.objects.filter(pk=step.pk).update(**columns)


def process_moved(**columns: Any) -> Callable[[Step], object]:
    return lambda step: Process.objects.filter(pk=step.process_id).update(**columns)


ASKED = {"deferral": {"since": "x"}, "started": True}
TURNED = {"state": "compensating", "outcome": "compensated"}

#: Alerts about a process: code, its process, its step, what ends the cause.
OF_PROCESSES: list[tuple[str, dict[str, Any], dict[str, Any], Callable[[Step], object]]] = [
    ("process_error", {"state": "error"}, {"error": True}, process_moved(state="processing")),
    ("process_error", {"state": "error"}, {"error": True}, moved(state="pending", not_before=NOW)),
    ("process_error", {"state": "error"}, {"error": True}, process_moved(**TURNED)),
    ("process_error", {"state": "error"}, {"error": True}, process_moved(outcome="compensated")),
    ("process_error", {"state": "error"}, {"error": True}, over),
    ("decision_needed", {}, {"error": True}, moved(state="pending", not_before=NOW)),
    ("decision_needed", {}, {"error": True}, process_moved(**TURNED)),
    ("undo_stuck", TURNED, {"error": True}, moved(state="pending", not_before=NOW)),
    ("process_compensating", TURNED, {"error": True}, lambda step: over(step, "compensated")),
    ("process_compensating", TURNED, {"error": True}, process_moved(state="error")),
    ("deadline_passed", {}, {"pending": True}, over),
    ("answer_overdue", {}, ASKED, moved(deferral=None)),
    ("answer_overdue", {}, ASKED, moved(escalate_at=NOW + HOUR)),
    ("step_skipped", {}, {"skipped": True}, lambda step: over(step, "compensated")),
    ("step_skipped", {}, {"skipped": True}, moved(state="waiting", finished_at=None)),
    ("on_end_failed", {"state": "processing"}, {}, over),
    ("on_end_failed", {"state": "processing"}, {}, process_moved(state="error")),
    ("unknown_definition", {}, {}, moved(state="pending", not_before=NOW)),
]


@pytest.mark.parametrize(("code", "process", "step", "end"), OF_PROCESSES)
def test_one_about_a_process_closes_when_its_cause_ends(code, process, step, end):
    about = stuck(process, **step)
    alert = raised(code, about)
    other = raised(code, stuck(process, **step))

    assert resolve_ended(NOW) == 0
    end(about)
    assert resolve_ended(NOW) == 1

    alert.refresh_from_db()
    other.refresh_from_db()
    assert (alert.resolved_at, alert.acknowledged_at, alert.acknowledged_by) == (NOW, NOW, None)
    assert alert.has_ended_by_itself
    assert (other.resolved_at, other.acknowledged_at) == (None, None)
    assert resolve_ended(NOW) == 0


def test_skipped_step_alert_of_processed_process_stays_until_acknowledged():
    step = stuck({}, skipped=True)
    alert = raised("step_skipped", step)
    over(step)
    assert resolve_ended(NOW) == 0
    Alert.objects.filter(pk=alert.pk).update(acknowledged_at=NOW - HOUR)
    assert resolve_ended(NOW) == 1
    alert.refresh_from_db()
    assert (alert.acknowledged_at, alert.has_ended_by_itself) == (NOW - HOUR, False)


def test_an_acknowledged_one_says_when_its_cause_ended_and_keeps_who_took_note():
    step = stuck(error=True)
    alert = raised("process_error", step, acknowledged_at=NOW - HOUR, comment="on it")
    over(step)
    assert resolve_ended(NOW) == 1
    alert.refresh_from_db()
    assert (alert.resolved_at, alert.acknowledged_at, alert.comment) == (NOW, NOW - HOUR, "on it")


def test_a_breaker_closes_its_alert():
    Flow.objects.create(agent="a.b", window=1, opened_at=NOW - HOUR, open_until=NOW)
    Flow.objects.create(agent="a.c", window=1)
    alert = raised("breaker_open", cause="breaker_open:agent:a.b")
    assert resolve_ended(NOW) == 0
    Flow.objects.filter(agent="a.b").update(opened_at=None, open_until=None)
    assert resolve_ended(NOW) == 1
    alert.refresh_from_db()
    assert alert.has_ended_by_itself


@pytest.mark.parametrize("code", ["duty_overdue", "unknown_definition"])
def test_what_is_raised_again_and_again_closes_once_it_is_quiet(code):
    alert = raised(code, at=NOW - HOUR)
    just_now = NOW - timedelta(seconds=alert_resolution.QUIET_SECONDS - 1)
    Alert.objects.update(last_raised_at=just_now)
    assert resolve_ended(NOW) == 0
    assert resolve_ended(NOW + timedelta(seconds=2)) == 1
    alert.refresh_from_db()
    assert alert.has_ended_by_itself


@pytest.mark.parametrize("code", ["restored", "something_of_an_app"])
def test_alert_whose_cause_no_row_shows_stays_until_acknowledged(code):
    raised(code, at=NOW - HOUR)
    assert resolve_ended(NOW) == 0
    Alert.objects.update(acknowledged_at=NOW)
    assert resolve_ended(NOW) == 1


def test_one_whose_cause_comes_again_is_raised_anew():
    alerts.raise_alert("duty_overdue", "first", subject="sweep", now=NOW)
    assert resolve_ended(NOW + HOUR) == 1
    alerts.raise_alert("duty_overdue", "second", subject="sweep", now=NOW + HOUR)
    rows = [(text_of(alert), alert.times) for alert in Alert.objects.order_by("pk")]
    assert rows == [("first", 1), ("second", 1)]


def test_one_that_is_raised_again_meanwhile_stays_open(monkeypatch):
    step = stuck(error=True)
    alert = raised("process_error", step)
    over(step)
    close = alert_resolution._close

    def raised_first(ended: list[dict[str, Any]]) -> None:
        Alert.objects.update(last_raised_at=NOW + HOUR)
        close(ended)

    monkeypatch.setattr(alert_resolution, "_close", raised_first)
    resolve_ended(NOW)
    alert.refresh_from_db()
    assert (alert.resolved_at, alert.acknowledged_at) == (None, None)


def test_a_round_looks_at_a_portion_and_the_next_goes_on(monkeypatch):
    monkeypatch.setattr(alert_resolution, "PORTION", 2)
    steps = [stuck(error=True) for _ in range(5)]
    for step in steps:
        raised("process_error", step)
    over(steps[4])
    assert [resolve_ended(NOW) for _ in range(3)] == [0, 0, 1]
    over(steps[0])
    assert resolve_ended(NOW) == 1
    assert Lease.objects.get(name="alerts").cursor != 0


def test_a_sink_that_is_told_again_closes_the_alert_about_its_address():
    sink = SinkFactory(
        kind="webhook",
        address="https://a.example/x",
        owner="client:acme",
        state="undeliverable",
        last=1,
        next_try_at=NOW,
    )
    mark = sinks.mark("webhook", "client:acme", "https://a.example/x")
    mine = raised("sink_undeliverable", cause=f"sink_undeliverable:{mark}")
    other = raised("sink_undeliverable", cause="sink_undeliverable:other")
    assert resolve_ended(NOW) == 0
    assert sinks.redeliver(sink.pk, actor="operator:ann", now=NOW)
    mine.refresh_from_db()
    other.refresh_from_db()
    assert (mine.has_ended_by_itself, other.resolved_at) == (True, None)


def test_a_sweep_closes_them():
    step = stuck(error=True)
    raised("process_error", step)
    over(step)
    supervisor.sweep()
    assert not Alert.objects.filter(resolved_at=None).exists()
    assert not alert_commands.acknowledge(Alert.objects.get().pk, 1, actor="operator:ann")


class TestOfAnApplication:
    """Alerts whose application says which of their causes have ended."""

    @pytest.fixture
    def over(self, monkeypatch) -> set[str]:
        subjects: set[str] = set()
        kind = replace(
            alert_kind("paper_out"),
            message="No paper",
            ended=lambda asked: {one for one in asked if one in subjects},
        )
        monkeypatch.setitem(alert_kinds._kinds, "paper_out", kind)
        return subjects

    def test_one_closes_when_its_application_says_so_and_not_when_acknowledged(self, over):
        for press in ("3", "4", "x:5"):
            alerts.raise_alert("paper_out", subject=press)
        taken = Alert.objects.filter(cause="paper_out:4")
        taken.update(acknowledged_at=NOW)
        assert resolve_ended() == 0
        over.add("x:5")
        assert resolve_ended() == 1
        assert Alert.objects.get(resolved_at__isnull=False).cause == "paper_out:x:5"
        over.add("4")
        assert resolve_ended() == 1
        assert Alert.objects.get(resolved_at=None).cause == "paper_out:3"

    def test_one_that_is_raised_while_the_application_is_asked_stays(self, monkeypatch):
        def ended(asked: Collection[str]) -> Collection[str]:
            alerts.raise_alert("paper_out", subject="3")
            return asked

        monkeypatch.setitem(
            alert_kinds._kinds, "paper_out", replace(alert_kind("paper_out"), ended=ended)
        )
        alerts.raise_alert("paper_out", subject="3", now=NOW - HOUR)
        resolve_ended()
        alert = Alert.objects.get()
        assert (alert.times, alert.resolved_at) == (2, None)

    def test_one_that_cannot_be_asked_keeps_no_other_open(self, monkeypatch):
        def ended(asked: Collection[str]) -> Collection[str]:
            raise LookupError

        monkeypatch.setitem(
            alert_kinds._kinds, "paper_out", replace(alert_kind("paper_out"), ended=ended)
        )
        alerts.raise_alert("paper_out", subject="3")
        step = stuck(error=True)
        raised("process_error", step)
        over(step)
        assert resolve_ended() == 1
        assert Alert.objects.get(resolved_at=None).code == "paper_out"
