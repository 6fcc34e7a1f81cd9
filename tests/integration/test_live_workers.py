"""Live workers: who counts, and what is told of one that vanished."""

from datetime import datetime, timedelta

import pytest

from tests.integration.conftest import NOW
from workers.client.submission import submit
from workers.models import Alert, Worker
from workers.protocol.messages import Reply
from workers.scheduler import look
from workers.store import alert_resolution, live_workers, worker_alerts
from workers.store.claims import claim_steps
from workers.store.claims.claim_steps import Room
from workers.store.settle import settle_replies

pytestmark = pytest.mark.usefixtures("no_assumption")


@pytest.fixture
def no_assumption(wire, monkeypatch) -> None:
    """Only workers that report count here."""
    monkeypatch.setattr(live_workers, "assumed_processes", None)


def alive(processes: int, run: str = "one", queue: str = "sas.agents", at: datetime = NOW) -> None:
    live_workers.report(run, f"celery-{run}@host", [queue], processes, at)


def calling(now: datetime = NOW) -> int:
    return live_workers.alive(now).calling("toy.alpha", "sas.agents")


def test_the_processes_of_all_workers_of_the_queue_count():
    alive(1)
    alive(2, run="two")
    alive(5, run="three", queue="sas.scheduler")

    assert calling() == 3


@pytest.mark.parametrize(("seconds", "processes"), [(7.9, 2), (8.1, 0)])
def test_a_worker_that_is_silent_does_not_count(seconds, processes):
    alive(2)

    assert calling(NOW + timedelta(seconds=seconds)) == processes


def test_a_worker_that_leaves_takes_its_processes_along():
    alive(2)
    live_workers.leave("one")

    assert calling() == 0


def test_a_worker_that_vanished_is_told_of_until_it_reports():
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


def test_unserved_queue_raises_alert_where_steps_wait():
    submit("toy_line", subject="Toy 1", input={}, now=NOW)
    queues = {"sas.agents": {"toy.alpha"}, "press": {"toy.beta"}}

    assert worker_alerts.tell(queues, NOW + timedelta(seconds=5)) == 0
    assert worker_alerts.tell(queues, NOW + timedelta(seconds=11)) == 1

    assert Alert.objects.get().cause == "queue_unserved:sas.agents"
    alive(1, at=NOW + timedelta(seconds=11))
    assert worker_alerts.tell(queues, NOW + timedelta(seconds=12)) == 0


def test_the_poll_tells_and_forgets():
    alive(1, at=NOW)
    submit("toy_line", subject="Toy 1", input={}, now=NOW)

    look.advance(NOW + timedelta(seconds=20))

    assert set(Alert.objects.values_list("code", flat=True)) == {
        "worker_vanished",
        "queue_unserved",
    }
    look.advance(NOW + timedelta(seconds=live_workers.KEPT_SECONDS + 10))
    assert not Worker.objects.exists()


@pytest.mark.parametrize(("seconds", "waited_for"), [(0.05, set()), (0.15, {"toy.alpha"})])
def test_settlement_takes_what_waits_though_there_is_room(seconds, waited_for):
    """What its process had no room for, or whose wake-up was lost; not what came just now."""
    for number in range(3):
        submit("toy_line", subject=f"Toy {number}", input={}, now=NOW)
    here = Room("agent@test", lambda agent: 1)
    (first,) = claim_steps.claim_due({"toy.alpha"}, here, NOW)
    reply = Reply(first.step_id, first.claim_id, first.attempt, result={})

    settled = settle_replies.apply(
        [reply],
        "agent@test",
        NOW + timedelta(seconds=seconds),
        own_room=Room("agent@test", lambda agent: 0 if agent == "toy.alpha" else 1),
    )

    assert [claim.agent for claim in settled.claims] == ["toy.beta"]
    assert settled.waited_for == waited_for
