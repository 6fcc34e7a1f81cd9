"""Alerts of one cause become one incident, which follows them until the cause is gone."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from tests.factories import AlertFactory, ProcessFactory, StepFactory
from tests.toyflow import agents as toy
from workers import supervisor
from workers.client import operations
from workers.client.submission import submit
from workers.definitions import amounts
from workers.definitions.agent import Call
from workers.desk.models import Incident, Minute
from workers.desk.rules.incidents import SAME_OUTAGE_WITHIN
from workers.desk.store import incidents
from workers.desk.store.incidents import collect, refresh
from workers.exceptions import Permanent
from workers.models import Alert, Process, Step
from workers.rules.rows import AlertCall
from workers.runtime.failpoints import durable
from workers.store import alerts
from workers.supervisor import beat_schedule

NOW = timezone.now()
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
FAULT = {"kind": "permanent", "code": "http_400", "message": "POST /charge: answered 400"}


def fails(code: str = "process_error", fault: dict[str, Any] = FAULT, **columns: Any) -> Alert:
    """Return the alert of an order that stands in error."""
    step: Step = StepFactory(
        process=ProcessFactory(state="error"), name="charge", error=True, fault=fault
    )
    return alert_of(step, code, **columns)


def alert_of(step: Step, code: str = "process_error", **columns: Any) -> Alert:
    at = columns.pop("at", NOW)
    return AlertFactory(
        cause=f"{code}:process:{step.process_id}:{step.name}",
        code=code,
        message=f"{step.process.subject}: step {step.name} failed for good: no",
        process=step.process,
        step=step,
        raised_at=at,
        **columns,
    )


def over(*alerts: Alert) -> None:
    Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).update(resolved_at=NOW)


@pytest.fixture
def priced() -> Iterator[None]:
    """Have each process be worth ten, but the first of those asked for."""

    def appraise(process_ids: Collection[int]) -> dict[int, Decimal]:
        return dict.fromkeys(sorted(process_ids)[1:], Decimal("10.50"))

    before = list(amounts._appraisers)
    amounts._appraisers[:] = [appraise]
    yield
    amounts._appraisers[:] = before


def test_orders_that_fail_alike_are_one_incident(priced):
    alerts = [fails(at=NOW - HOUR), fails(), fails()]
    other = fails(fault={**FAULT, "kind": "transient", "code": "http_500"})

    assert collect(NOW) == 4

    first, second = Incident.objects.order_by("-members")
    assert (first.state, first.members, first.total, first.reopened) == ("open", 3, 3, 0)
    assert (first.kind, first.code, first.severity) == ("failure", "process_error", 2)
    assert (first.opened_at, first.last_at) == (NOW - HOUR, NOW)
    assert first.money == Decimal("21.00")
    assert (second.members, second.money) == (1, Decimal("10.50"))
    assert {alert.pk for alert in first.alerts.all()} == {alert.pk for alert in alerts}
    assert list(second.alerts.all()) == [other]
    assert collect(NOW) == 0


def test_incident_without_appraisal_has_no_worth():
    fails()
    collect(NOW)
    assert Incident.objects.get().money is None


def test_incident_is_collected_though_appraiser_fails():
    def appraise(process_ids: Collection[int]) -> dict[int, Decimal]:
        raise LookupError

    before = list(amounts._appraisers)
    amounts.register_amounts(appraise)
    try:
        fails()
        collect(NOW)
    finally:
        amounts._appraisers[:] = before
    assert Incident.objects.get().members == 1


def test_later_ones_join_the_incident_that_is_open():
    fails()
    collect(NOW)
    Incident.objects.update(state="acknowledged")
    fails(at=NOW + HOUR)
    collect(NOW + HOUR)
    incident = Incident.objects.get()
    assert (incident.state, incident.members, incident.total) == ("acknowledged", 2, 2)
    assert (incident.opened_at, incident.last_at) == (NOW, NOW + HOUR)


def test_it_follows_its_members_and_is_resolved_without_any(priced):
    first, *others = [fails(), fails(), fails()]
    collect(NOW)
    assert refresh(NOW) == 0
    over(*others)
    assert refresh(NOW) == 1
    incident = Incident.objects.get()
    assert (incident.state, incident.members, incident.total) == ("open", 1, 3)
    assert incident.money is None
    over(first)
    assert refresh(NOW + HOUR) == 1
    incident.refresh_from_db()
    assert (incident.state, incident.members, incident.total) == ("resolved", 0, 3)
    assert incident.resolved_at == NOW + HOUR
    assert refresh(NOW + HOUR) == 0


def test_one_whose_cause_comes_back_soon_is_reopened():
    over(fails())
    Alert.objects.update(resolved_at=None)
    collect(NOW)
    over(Alert.objects.get())
    refresh(NOW)
    fails()
    collect(NOW + SAME_OUTAGE_WITHIN - MINUTE)
    incident = Incident.objects.get()
    assert (incident.state, incident.members, incident.reopened) == ("open", 1, 1)
    assert (incident.resolved_at, incident.opened_at, incident.total) == (None, NOW, 2)


def test_cause_that_returns_late_opens_a_new_incident():
    alert = fails()
    collect(NOW)
    over(alert)
    refresh(NOW)
    fails()
    collect(NOW + SAME_OUTAGE_WITHIN + MINUTE)
    old, new = Incident.objects.order_by("pk")
    assert old.key == new.key
    assert (old.state, old.members, new.state, new.members) == ("resolved", 0, "open", 1)


TROUBLE = {**FAULT, "kind": "transient", "code": "http_500", "message": "answered 500"}


def works(at: datetime, agent: str = "toy.run", **counts: int) -> None:
    Minute.objects.create(agent=agent, at=at.replace(second=0, microsecond=0), counts=counts)


@pytest.mark.parametrize(
    ("fault", "later", "counts", "expected"),
    [
        (TROUBLE, 30 * MINUTE, {"ok": 3, "transient": 1}, [1, 1]),
        # It never worked meanwhile, or another service did, or it is too soon to tell.
        (TROUBLE, 30 * MINUTE, {"transient": 4}, [2]),
        (TROUBLE, 30 * MINUTE, {}, [2]),
        (TROUBLE, SAME_OUTAGE_WITHIN - MINUTE, {"ok": 3}, [2]),
        # The orders are at fault, whatever the service does.
        (FAULT, 30 * MINUTE, {"ok": 3}, [2]),
    ],
)
def test_an_incident_is_one_outage_in_time(fault, later, counts, expected):
    agent = fails(fault=fault).step.agent  # type: ignore[union-attr]
    collect(NOW)
    works(NOW + 5 * MINUTE, agent, **counts)
    works(NOW + 5 * MINUTE, "another", ok=9)
    fails(fault=fault, at=NOW + later)

    collect(NOW + later)

    found = list(Incident.objects.order_by("pk").values_list("members", flat=True))
    assert found == expected
    first, last = Incident.objects.earliest("pk"), Incident.objects.latest("pk")
    assert last.opened_at == (NOW if len(expected) == 1 else NOW + later)
    assert last.key == (first.key if len(expected) == 1 else f"{first.key}-2")


def test_further_outages_have_numbers_while_others_are_open():
    keys = []
    for number in range(3):
        at = NOW + number * HOUR
        agent = fails(fault=TROUBLE, at=at).step.agent  # type: ignore[union-attr]
        works(at + 30 * MINUTE, agent, ok=1)
        # A second one soon after belongs to the newest.
        fails(fault=TROUBLE, at=at + MINUTE)
        collect(at + MINUTE)
        keys.append(Incident.objects.latest("pk").key)

    first = keys[0]
    assert keys == [first, f"{first}-2", f"{first}-3"]
    assert set(Incident.objects.values_list("members", flat=True)) == {2}

    over(*Incident.objects.get(key=f"{first}-2").alerts.all())
    refresh(NOW + 4 * HOUR)
    fails(fault=TROUBLE, at=NOW + 5 * HOUR)
    collect(NOW + 5 * HOUR)
    assert Incident.objects.get(key=f"{first}-3").members == 3


def test_one_that_was_put_off_is_open_again_when_its_time_is_over():
    fails()
    collect(NOW)
    Incident.objects.update(state="snoozed", snooze_until=NOW + HOUR)
    assert refresh(NOW) == 0
    assert refresh(NOW + HOUR) == 1
    incident = Incident.objects.get()
    assert (incident.state, incident.snooze_until) == ("open", None)


def test_an_alert_raised_anew_takes_the_place_of_the_one_that_was_acknowledged():
    old = fails()
    collect(NOW)
    Alert.objects.update(acknowledged_at=NOW)
    new = alert_of(old.step)
    collect(NOW)
    refresh(NOW)
    old.refresh_from_db()
    new.refresh_from_db()
    incident = Incident.objects.get()
    assert (old.resolved_at, new.resolved_at) == (NOW, None)
    assert (incident.members, incident.total) == (1, 2)


def test_an_alert_that_was_closed_before_the_sweep_opens_none():
    over(fails())
    assert collect(NOW) == 0
    assert not Incident.objects.exists()


def test_two_sweeps_at_once_attach_each_alert_once(monkeypatch):
    fails()
    real = incidents.amounts.amounts

    def other_sweep_first(ids: Collection[int]) -> dict[int, Decimal]:
        monkeypatch.setattr(incidents.amounts, "amounts", real)
        collect(NOW)
        return real(ids)

    monkeypatch.setattr(incidents.amounts, "amounts", other_sweep_first)
    collect(NOW)
    incident = Incident.objects.get()
    assert (incident.members, incident.total) == (1, 1)


def test_alert_arriving_during_refresh_keeps_incident_from_resolving(monkeypatch):
    alert = fails()
    collect(NOW)
    over(alert)
    judged = incidents._judged

    def another_comes(*look: Any) -> Any:
        monkeypatch.setattr(incidents, "_judged", judged)
        found = judged(*look)
        fails()
        collect(NOW)
        return found

    monkeypatch.setattr(incidents, "_judged", another_comes)
    refresh(NOW)
    incident = Incident.objects.get()
    assert (incident.state, incident.members) == ("open", 1)


def test_a_round_attaches_a_portion_and_a_sweep_all(monkeypatch):
    monkeypatch.setattr(incidents, "PORTION", 2)
    for _ in range(5):
        fails()
    assert collect(NOW) == 2
    supervisor.sweep()
    assert Incident.objects.get().members == 5


def test_a_sweep_resolves_an_incident_whose_cause_has_ended():
    alert = fails()
    supervisor.sweep()
    assert Incident.objects.get().state == "open"
    Step.objects.filter(pk=alert.step_id).update(state="pending", not_before=NOW)
    supervisor.sweep()
    incident = Incident.objects.get()
    assert (incident.state, incident.members) == ("resolved", 0)


def test_an_alert_about_no_process_has_an_incident_of_its_own():
    for agent in ("a.b", "a.c"):
        AlertFactory(
            cause=f"breaker_open:agent:{agent}",
            code="breaker_open",
            message="not reached",
            raised_at=NOW,
        )
    collect(NOW)
    assert sorted(row.params["about"] for row in Incident.objects.all()) == ["a.b", "a.c"]


def test_incident_of_150_failures_resolves_once_orders_are_resubmitted(wire):
    """Nobody touches an alert: the resubmission of the orders is all that it takes."""
    beat_schedule.ensure_flow()

    def refuses(call: Call) -> dict[str, Any]:
        raise Permanent("http_400", f"POST /press: answered 400 to {call.key}")

    toy.script["toy.beta"] = refuses
    for number in range(150):
        submit("toy_line", subject=f"Toy {number}", input={})
    wire.run_until_idle()
    supervisor.sweep()

    incident = Incident.objects.get()
    assert (incident.members, incident.state) == (150, "open")
    assert incident.alerts.count() == 150

    toy.script.clear()
    for process_id in Process.objects.values_list("pk", flat=True):
        operations.resubmit(process_id, actor="operator:ann", reason="mended")
    wire.run_until_idle()
    supervisor.sweep()

    incident.refresh_from_db()
    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
    assert (incident.members, incident.total, incident.state) == (0, 150, "resolved")
    assert not Alert.objects.filter(resolved_at=None).exists()
    assert not Alert.objects.exclude(acknowledged_by=None).exists()


def again(alert: Alert, reason: str, at: Any = NOW) -> None:
    """Raise an alert of a step once more, as its step's next failure does."""
    call = AlertCall(
        *(alert.cause, alert.code, {"reason": reason}), alert.process_id, alert.step_id
    )
    with durable("test"):
        alerts.write([call], at)


def test_order_that_fails_anew_moves_to_incident_of_new_cause():
    """It was resubmitted, and failed of something else before the sweep had looked."""
    alert = fails(params={"reason": "answered 500"})
    other = fails(params={"reason": "answered 500"})
    collect(NOW)
    before = Incident.objects.get()
    fault = {**FAULT, "message": "no such card", "code": "card"}
    Step.objects.filter(pk=alert.step_id).update(fault=fault)

    again(alert, "no such card")
    collect(NOW)
    refresh(NOW)

    alert.refresh_from_db()
    other.refresh_from_db()
    assert other.group_id == before.pk
    after = Incident.objects.get(pk=alert.group_id)
    assert after.params["message"] == "no such card"
    before.refresh_from_db()
    assert (before.members, after.members, after.total) == (1, 1, 1)


def test_order_that_fails_of_same_cause_stays_in_its_incident():
    alert = fails(params={"reason": "no"})
    collect(NOW)
    again(alert, "no")
    assert Alert.objects.get().group_id == Incident.objects.get().pk
    assert collect(NOW) == 0
    assert Incident.objects.get().total == 1


def late(why: str, seconds: int, at: Any = NOW, duty: str = "sweep") -> None:
    says = {"says": ["late", why, "triggered"], "seconds": str(seconds), "duty": duty}
    alerts.raise_alert("duty_overdue", params=says, subject=duty, now=at)


def test_alert_without_process_stays_in_incident_and_updates_its_text():
    """A duty is raised anew every two seconds, with other words each time."""
    late("unasked", 10)
    collect(NOW)
    late("unread", 20, NOW + HOUR)

    assert refresh(NOW + HOUR) == 0

    assert Alert.objects.get().group_id == Incident.objects.get().pk
    incident = Incident.objects.get()
    assert (incident.state, incident.members, incident.total) == ("open", 1, 1)
    assert incident.params["said"]["says"] == ["late", "unread", "triggered"]
    assert incident.params["said"]["seconds"] == "20"
    assert refresh(NOW + HOUR) == 0


def test_late_duties_share_one_incident_that_names_duties_still_late():
    late("unasked", 10)
    late("unasked", 10, duty="poll")
    collect(NOW)
    refresh(NOW)
    incident = Incident.objects.get()
    assert (incident.members, incident.params["about"]) == (2, "poll, sweep")
    assert incident.params["said"]["duty"] == "poll"

    over(Alert.objects.get(cause="duty_overdue:poll"))
    refresh(NOW)

    incident.refresh_from_db()
    assert (incident.members, incident.params["about"]) == (1, "sweep")
    assert incident.params["said"]["duty"] == "sweep"

    over(Alert.objects.get(cause="duty_overdue:sweep"))
    refresh(NOW)
    incident.refresh_from_db()
    assert (incident.state, incident.params["said"]["duty"]) == ("resolved", "sweep")


def test_what_stays_the_same_costs_two_statements(django_assert_num_queries):
    late("unasked", 10)
    fails()
    collect(NOW)
    refresh(NOW)
    with django_assert_num_queries(2):
        refresh(NOW)
