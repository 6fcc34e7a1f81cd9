"""What is done for operators meets itself: two sweeps, two workers of a job, a stop in between."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.concurrency.matrix.pausing import Session, meet, one_after_the_other
from tests.integration.test_incidents import HOUR, fails, over
from tests.integration.test_jobs import NOW, failed, items, job_of, resubmitted, seen
from workers.desk.models import BulkItem, BulkJob, Delivery, Incident, Route
from workers.desk.store import delivery_plans, incidents, jobs
from workers.models import Alert

pytestmark = pytest.mark.django_db(transaction=True)


def places(session: Session, verb: Callable[[], Any]) -> range:
    """Return the statements of a verb, after each of which another may come in between."""
    (alone,) = one_after_the_other(session, verb)
    assert not isinstance(alone.result, Exception)
    return range(1, len(alone.gate.statements) + 1)


def of_a_healed_incident() -> None:
    Alert.objects.all().delete()
    Incident.objects.all().delete()
    alert = fails()
    incidents.collect(NOW)
    over(alert)


@pytest.mark.postgresql
def test_alert_joining_during_refresh_leaves_incident_open(two):
    def refresh() -> int:
        return incidents.refresh(NOW)

    of_a_healed_incident()
    for after in places(two[0], refresh):
        of_a_healed_incident()
        fails()

        turns = meet(two, refresh, lambda: incidents.collect(NOW), after)

        assert not any(isinstance(turn.result, Exception) for turn in turns)
        assert list(Incident.objects.values_list("state", "members")) == [("open", 1)]


@pytest.mark.postgresql
def test_two_sweeps_tell_a_route_once(two):
    def plan() -> int:
        return delivery_plans.plan(NOW)

    Route.objects.create(name="ops", kind="mail", address="ops@example.org", time_zone="UTC")
    fails(at=NOW - HOUR)
    incidents.collect(NOW)
    for after in places(two[0], plan):
        Delivery.objects.all().delete()

        turns = meet(two, plan, plan, after)

        assert sorted(turn.result for turn in turns) == [0, 1]
        assert Delivery.objects.count() == 1


@pytest.mark.postgresql
def test_two_workers_of_a_job_act_on_a_process_once(two):
    def work() -> jobs.ChunkResult:
        return jobs.work(BulkJob.objects.latest("pk").pk, 1)

    job_of(failed(2))
    for after in places(two[0], work):
        processes = failed(2)
        job_id = job_of(processes)

        turns = meet(two, work, work, after)

        assert [turn.result.landed for turn in turns] == [1, 1]
        assert {state for _, state in items(job_id)} == {"landed"}
        assert [resubmitted(process) for process in processes] == [1, 1]


def test_a_job_that_is_stopped_while_its_set_is_frozen_does_not_begin(monkeypatch):
    processes = failed(1)
    real = type(BulkItem.objects).bulk_create

    def stop_meanwhile(*rows: Any) -> Any:
        jobs.steer(BulkJob.objects.get().pk, "stop", actor="operator:bob")
        return real(BulkItem.objects, *rows)

    monkeypatch.setattr(BulkItem.objects, "bulk_create", stop_meanwhile)
    job_id = jobs.create("resubmit", seen(processes), actor="operator:ann", reason="", source={})

    assert BulkJob.objects.get().state == "stopped"
    assert jobs.work(job_id, 1).is_over
    assert resubmitted(processes[0]) == 0
