"""The database's clock, or Beat's, is set back: nothing waits until it is there again."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from tests.alerts import text_of
from tests.integration.conftest import NOW, begin
from workers import scheduler, supervisor
from workers.client.submission import submit
from workers.desk.admin import duties as shown_duties
from workers.models import Alert, Lease, Step
from workers.ops.doctor import duties
from workers.rules import lateness
from workers.store import leases
from workers.store.claims import find_work
from workers.store.db import dialect
from workers.supervisor import beat_schedule, beat_watchdog
from workers.wire import dispatch

HOUR = timedelta(hours=1)


def set_back(by: timedelta = HOUR) -> None:
    """Leave the duties' instants as a clock that ran ahead by so much has written them."""
    Lease.objects.update(performed_at=dialect.read_clock() + by)


@pytest.mark.parametrize(
    ("seconds", "is_overdue"),
    [(None, True), (33, True), (31, False), (0, False), (-1, False), (-3, True), (-3600, True)],
)
def test_a_duty_is_late_when_it_was_never_done_or_long_ago_or_in_the_future(seconds, is_overdue):
    assert lateness.is_overdue(seconds, 10) is is_overdue


def test_duties_dated_in_the_future_are_triggered_and_an_operator_is_told_why(wire):
    supervisor.sweep()
    scheduler.advance()
    wire.drop_all()
    set_back()

    assert beat_watchdog.look() == ["sweep", "poll"]

    assert [sent.task for sent in wire.messages] == [dispatch.SWEEP, dispatch.ADVANCE]
    for message in map(text_of, Alert.objects.all()):
        assert "s in the future: the database's clock was set back" in message
        assert "Beat" not in message
    # They do not only trigger them: what they trigger is done, and then all is well.
    wire.run_until_idle()
    assert beat_watchdog.look() == []


@pytest.mark.parametrize(
    ("performed_at", "is_due"),
    [
        (NOW + timedelta(seconds=1), False),
        (NOW + HOUR, True),
        (NOW - timedelta(seconds=4), False),
        (NOW - timedelta(seconds=6), True),
    ],
)
def test_a_poll_is_due_again_where_the_last_is_dated_in_the_future(performed_at, is_due):
    leases.is_due(leases.POLL, 5, performed_at)

    assert find_work.look(NOW).is_poll_due is is_due
    assert leases.is_due(leases.POLL, 5, NOW) is is_due
    expected = NOW if is_due else performed_at
    assert Lease.objects.get(name=leases.POLL).performed_at == expected


@pytest.mark.parametrize(("ahead", "is_free"), [(HOUR, True), (timedelta(), False)])
def test_a_lease_that_a_dead_holder_took_by_a_clock_ahead_is_free(ahead, is_free):
    assert leases.acquire(leases.SWEEP, "dead", 10, NOW + ahead)

    assert leases.acquire(leases.SWEEP, "alive", 10, NOW) is is_free

    assert Lease.objects.get(name=leases.SWEEP).holder == ("alive" if is_free else "dead")


def test_the_doctor_says_so_of_sweep_poll_and_pruning(wire):
    supervisor.sweep()
    scheduler.advance()
    leases.is_due("prune", 0)
    set_back()

    found = [*duties.sweep_and_poll_are_performed(), *duties.pruning_is_performed()]

    assert {str(one.level) for one in found} == {"error"}
    assert len(found) == 3
    assert all("in the future: the database's clock was set back" in one.what for one in found)


def test_the_doctor_says_so_of_claims(wire):
    submit("toy_line", subject="Toy 1", input={})
    begin(wire)
    assert list(duties.claims_are_not_dated_in_the_future()) == []
    claims = Step.objects.filter(state="processing")
    claims.update(started_at=F("started_at") + HOUR, complete_by=F("complete_by") + HOUR)

    (found,) = duties.claims_are_not_dated_in_the_future()

    assert found.what.startswith("1 claim is dated 3")


def test_the_index_shows_a_duty_in_the_future_as_late(wire):
    supervisor.sweep()
    assert not shown_duties.read().sweep.is_late
    set_back()

    assert shown_duties.read().sweep.is_late


def entry(row: PeriodicTask) -> Any:
    """Return what Beat has in mind of a row."""
    return SimpleNamespace(name=row.name, model=row, last_run_at=row.last_run_at)


def test_beat_drops_a_run_in_the_future_as_it_starts_and_no_other(transactional_db):
    beat_schedule.ensure()
    before = timezone.now() - timedelta(seconds=1)
    PeriodicTask.objects.update(last_run_at=before)
    PeriodicTask.objects.filter(name=beat_schedule.SWEEP_NAME).update(last_run_at=before + HOUR)
    entries = [entry(row) for row in PeriodicTask.objects.order_by("name")]
    (found,) = duties.beat_does_not_wait_for_its_clock()
    assert beat_schedule.SWEEP_NAME in found.what

    assert beat_schedule.drop_future_runs(entries) == 1

    for one in entries:
        expected = before if one.name != beat_schedule.SWEEP_NAME else one.last_run_at
        assert one.last_run_at == PeriodicTask.objects.get(name=one.name).last_run_at == expected
        assert one.last_run_at <= timezone.now()
    assert list(duties.beat_does_not_wait_for_its_clock()) == []
