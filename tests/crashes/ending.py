"""What begins and ends systems: workers stopped, siblings acknowledged, old rows pruned."""

import os
from datetime import timedelta
from unittest.mock import patch

from django.contrib.sessions.models import Session
from django.utils import timezone

from orders import dead_letters
from orders.consumer.message import Message
from orders.models import DeadLetter
from tests.crashes.scenario import Scenario, assert_ended, does, nothing, submit_once
from tests.factories import AlertFactory
from tests.toyflow import agents as toy
from workers.agent import graceful_shutdown
from workers.client.submission import submit
from workers.desk.models import Incident
from workers.models import Alert, Flow, Journal, Process, ReceivedWebhook, Step, UndoRequest
from workers.operate import retention
from workers.runtime import worker_identity
from workers.store import alert_resolution
from workers.store.claims import release
from workers.store.db import dialect
from workers.store.flow import holds
from workers.supervisor import beat_schedule
from workers.testing import Aftermath, Clock, Wire, WorkerDied

RUN = "0a1b2c3d"


def _stop(wire: Wire, clock: Clock) -> None:
    """End a worker in the middle of its call, and have its parent hand the claim back."""

    def cut_off(call: object) -> None:
        does(call)  # type: ignore[arg-type]
        raise WorkerDied

    with patch.dict(os.environ, CELERY_WORKER_RUN=RUN), patch.dict(toy.script):
        toy.script["toy.asker"] = cut_off  # type: ignore[assignment]
        wire.run_until_idle()
    graceful_shutdown.release(worker_identity.mark_of(RUN))
    wire.run_until_settled(clock)


def _paid_once(after: Aftermath) -> None:
    assert_ended(after, "processed", {"pay": 1}, pay="processed")
    assert Step.objects.get().failure_count <= (after.crash is not None)
    after.assert_same_journal(may_lack={"handed_back", "claimed"})


def _kill(wire: Wire, clock: Clock) -> None:
    """Kill a worker in the middle of its call, and have its parent note that."""

    def cut_off(call: object) -> None:
        does(call)  # type: ignore[arg-type]
        raise WorkerDied

    with patch.dict(toy.script):
        toy.script["toy.asker"] = cut_off  # type: ignore[assignment]
        wire.run_until_idle()
    release.note_death("", lambda name: True, "signal 9 (SIGKILL)")
    wire.run_until_settled(clock)


def _paid_at_the_second_attempt(after: Aftermath) -> None:
    assert_ended(after, "processed", {"pay": 1}, pay="processed")
    assert Step.objects.get().failure_count <= 1 + (after.crash is not None)
    after.assert_same_journal(may_lack={"expired", "claimed"})


def _old_rows(wire: Wire) -> None:
    """Rows of every kind that is pruned, two of each, and an order that nobody may prune."""
    for number in range(2):
        process = submit("toy_line", subject=f"Toy {number}", input={})
        UndoRequest.objects.create(
            process=process, verb="cancel", undo=[], sequence=0, asked_at=timezone.now()
        )
        dead_letters.keep(Message(b"{", {"message_id": f"key-{number}"}), [])
        Session.objects.create(session_key=f"key-{number}", expire_date=timezone.now())
        holds.hold("agent", "toy.beta", actor="operator:ann", reason="r")
        holds.lift("agent", "toy.beta", actor="operator:ann", reason="r")
        AlertFactory(cause=f"c{number}", code="restored", acknowledged_at=timezone.now())
        Incident.objects.create(
            key=f"c{number}",
            code="restored",
            severity=1,
            state="resolved",
            opened_at=timezone.now(),
            last_at=timezone.now(),
            resolved_at=timezone.now(),
        )
        ReceivedWebhook.objects.create(
            provider="toy-pay", message_id=f"msg_{number}", received_at=timezone.now()
        )
    wire.run_until_idle()
    submit("toy_line", subject="Toy under way", input={})
    ids = DeadLetter.objects.values_list("pk", flat=True)
    for pk in ids:
        dead_letters.discard(pk, actor="operator:ann", reason="no use")
    alert_resolution.resolve_ended()


def _prune(wire: Wire, clock: Clock) -> None:
    """Prune everything that is older than a year, one row a transaction."""
    # The lease of whoever died over it.
    clock.advance(seconds=retention.LEASE_SECONDS + 1)
    then = clock.now + timedelta(days=40_000)
    retention.prune(seconds=None, batch=1, now=then)


def _pruned(after: Aftermath) -> None:
    assert Process.objects.get().subject == "Toy under way"
    assert Step.objects.count() == 2
    assert Journal.objects.count() == 1
    gone = (DeadLetter, Session, Alert, Incident, ReceivedWebhook, UndoRequest)
    assert [model.objects.count() for model in gone] == [0] * len(gone)


def _without_flow(wire: Wire) -> None:
    dialect.execute("DELETE FROM workers_flow")


def _all_agents(after: Aftermath) -> None:
    assert Flow.objects.filter(agent="toy.gamma", window=3).count() == 1


SCENARIOS = [
    Scenario(
        "worker stopped",
        submit_once("toy_queried"),
        _paid_once,
        run=_stop,
        brief=("release.release_unfinished", "dispatch.wake_up", "claim_steps.claim_due"),
    ),
    Scenario(
        "worker killed",
        submit_once("toy_queried"),
        _paid_at_the_second_attempt,
        run=_kill,
        brief=("release.note_death",),
    ),
    Scenario("prune", lambda: None, _pruned, prepare=_old_rows, run=_prune),
    Scenario(
        "flow rows", beat_schedule.ensure_flow, _all_agents, prepare=_without_flow, run=nothing
    ),
]
