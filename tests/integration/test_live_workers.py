"""Room is known: no more is claimed and sent than workers that live can begin."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings

from tests.integration.conftest import NOW
from workers.client.submission import submit
from workers.models import Alert, Step, Worker
from workers.scheduler import look
from workers.store import alert_resolution, live_workers, worker_alerts
from workers.store.claims import claim_steps
from workers.store.claims.claim_steps import Room
from workers.testing import Wire

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_assumption")]


@pytest.fixture
def no_assumption(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only workers that report count here."""
    monkeypatch.setattr(live_workers, "assumed_processes", None)


def alive(processes: int, run: str = "one", queue: str = "sas.agents", at: datetime = NOW) -> None:
    live_workers.report(run, f"celery-{run}@host", [queue], processes, at)


def taken(orders: int, now: datetime = NOW, here: Room | None = None) -> list[Any]:
    for number in range(orders):
        submit("toy_line", subject=f"Toy {number}", input={}, now=NOW)
    return list(claim_steps.claim_due({"toy.alpha"}, "scheduler", now, own_room=here))


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_no_more_is_claimed_than_live_workers_can_begin() -> None:
    alive(2)

    assert len(taken(9)) == 4
    assert len(taken(9)) == 0

    assert Step.objects.filter(state="processing").count() == 4


def test_without_a_worker_nothing_is_claimed() -> None:
    alive(4, queue="celery")

    assert taken(3) == []


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_the_processes_of_all_workers_of_the_queue_count() -> None:
    alive(1)
    alive(2, run="two")
    alive(5, run="three", queue="sas.scheduler")

    assert len(taken(9)) == 6


@override_settings(SAS_BUNDLE_LIMIT=2)
@pytest.mark.parametrize(("seconds", "room"), [(7.9, 2), (8.1, 0)])
def test_a_worker_that_is_silent_has_no_room(seconds: float, room: int) -> None:
    alive(1)

    assert len(taken(5, NOW + timedelta(seconds=seconds))) == room


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_a_worker_that_leaves_takes_its_room_along() -> None:
    alive(1)
    live_workers.leave("one")

    assert taken(5) == []


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_claims_of_vanished_worker_take_no_room() -> None:
    alive(1)
    claims = taken(2)
    Step.objects.filter(pk__in=[one.step_id for one in claims]).update(
        started_at=NOW, complete_by=NOW + timedelta(minutes=5), locked_by="agent@host:7/one"
    )
    later = NOW + timedelta(seconds=20)
    alive(1, run="two", at=later)

    assert len(taken(5, later)) == 2


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_the_window_bounds_what_is_taken_and_workers_what_is_sent() -> None:
    alive(1)
    here = Room("agent@test", lambda agent: 3)

    claims = taken(9, here=here)

    assert sum(claim.is_started for claim in claims) == 3
    # What is taken here is under way in a live worker, too.
    assert len(claims) == 3


def test_a_worker_that_vanished_is_told_of_until_it_reports() -> None:
    alive(1, at=NOW)
    later = NOW + timedelta(seconds=20)

    assert worker_alerts.tell({}, later) == 1
    worker_alerts.tell({}, later)

    alert = Alert.objects.get()
    assert (alert.code, alert.cause, alert.times) == ("worker_vanished", "worker_vanished:one", 1)
    assert alert.params["worker"] == "celery-one@host"
    alert_resolution.resolve_ended(later)
    alert.refresh_from_db()
    assert alert.resolved_at is None
    alive(1, at=later)
    alert_resolution.resolve_ended(later)
    alert.refresh_from_db()
    assert alert.resolved_at is not None


def test_unserved_queue_raises_alert_where_steps_wait() -> None:
    submit("toy_line", subject="Toy 1", input={}, now=NOW)
    queues = {"sas.agents": {"toy.alpha"}, "press": {"toy.beta"}}

    assert worker_alerts.tell(queues, NOW + timedelta(seconds=5)) == 0
    assert worker_alerts.tell(queues, NOW + timedelta(seconds=11)) == 1

    assert Alert.objects.get().cause == "queue_unserved:sas.agents"
    alive(1, at=NOW + timedelta(seconds=11))
    assert worker_alerts.tell(queues, NOW + timedelta(seconds=12)) == 0


def test_the_poll_tells_and_forgets() -> None:
    alive(1, at=NOW)
    submit("toy_line", subject="Toy 1", input={}, now=NOW)

    look.advance(NOW + timedelta(seconds=20))

    assert set(Alert.objects.values_list("code", flat=True)) == {
        "worker_vanished",
        "queue_unserved",
    }
    look.advance(NOW + timedelta(seconds=live_workers.KEPT_SECONDS + 10))
    assert not Worker.objects.exists()
