"""What each process does, with the rights that the how-to grants it, and no others.

Faster than a whole system with such logins, and it shows what a statement lacks at once; the
roles go with the test's transaction.
"""

import json
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.urls import reverse
from django.utils import timezone
from django_celery_beat import schedulers
from django_celery_beat.models import PeriodicTask

from orders import dead_letters, tokens
from orders.agents.stock import ReleaseStock
from orders.consumer import handling
from orders.consumer.message import Message
from orders.correcting import take_over
from orders.models import DeadLetter, DroppedLetters, Product
from orders.submission import Customer, Line, place_order
from sasproject.celery import app
from tests import roles
from tests.factories import AlertFactory, ProcessFactory, StepFactory
from tests.queue_door import conftest as queue_shop
from tests.queue_door.sending import BODY
from tests.toyflow import agents
from workers import Call, Unavailable, cancel, durable, raise_alert, scheduler, supervisor
from workers.checks import tables
from workers.desk.models import BulkJob, Note, Preferences, Route, SavedView
from workers.desk.operate import health
from workers.desk.operate import jobs as operate_jobs
from workers.desk.store import jobs, notes
from workers.models import Alert, Flow, ReceivedWebhook, Step, UndoRequest
from workers.operate import retention
from workers.store import received_webhooks
from workers.store.flow import holds
from workers.store.flow.flow_settings import set_flow
from workers.supervisor import beat_schedule

pytestmark = pytest.mark.postgresql
NOW = timezone.now()
LONG_AGO = NOW - timedelta(days=2000)
PURCHASE = (Customer("Ada", "ada@example.org", "1 Mill Lane"), [Line("SKU-001", 2)])


def test_a_worker_sweeps_prunes_and_rolls_up_minutes(caplog, settings):
    settings.SAS_KEEP_JOURNAL_DAYS = 30
    step = StepFactory(process=ProcessFactory(state="error"), error=True)
    for at in (NOW, LONG_AGO):
        UndoRequest.objects.create(
            process=step.process,
            verb="cancel",
            undo=[],
            sequence=step.process.sequence,
            asked_by="ann",
            reason="why",
            asked_at=at,
            **({} if at == NOW else {"state": "declined", "decided_at": at}),
        )
    for code in ("process_error", "undo_requested"):
        about = {"process": step.process, "step": step}
        AlertFactory(cause=f"{code}:{step.pk}", code=code, raised_at=NOW, **about)
    raise_alert("dead_letters_open", params={"says": ["sender"], "sender": "acme"}, subject="acme")
    DeadLetter.objects.create(received_at=LONG_AGO, resolved_at=LONG_AGO, state="discarded")
    ReceivedWebhook.objects.create(provider="bank", message_id="1", received_at=LONG_AGO)
    over = jobs.create("pause", {step.process.pk: 1}, actor="ann", reason="why", source={})
    BulkJob.objects.filter(pk=over).update(state="done", ended_at=LONG_AGO)

    roles.be("shop_worker")
    supervisor.sweep()
    pruned = retention.prune(seconds=None)
    health.run()
    roles.be_owner()

    assert "ermission denied" not in caplog.text
    assert pruned is not None
    assert pruned["dead letters"] == 1
    assert not ReceivedWebhook.objects.exists()
    assert not BulkJob.objects.exists()
    open_codes = set(Alert.objects.filter(resolved_at=None).values_list("code", flat=True))
    # Nobody has decided, and nothing of acme is open.
    assert {"process_error", "undo_requested"} <= open_codes
    assert "dead_letters_open" not in open_codes


def test_the_admin_deletes_what_it_offers_to_delete(client):
    boss = User.objects.create_superuser("boss")
    gone = User.objects.create_user("gone", is_staff=True)
    Preferences.objects.create(user=gone, time_zone="Europe/Paris")
    Note.objects.create(process=ProcessFactory(), author=gone, text="called", at=NOW)
    SavedView.objects.create(owner=gone, of_list="workers.process", name="mine", created_at=NOW)
    Product.objects.create(sku="OLD", name="Old", price=1)
    route = Route.objects.create(name="a", kind="mail", address="a@example.org")
    client.force_login(boss)

    roles.be("shop_web")
    for name, key in (
        ("auth_user", gone.pk),
        ("orders_product", Product.objects.get(sku="OLD").pk),
        ("desk_route", route.pk),
    ):
        url = reverse(f"admin:{name}_delete", args=[key])
        assert client.post(url, {"post": "yes"}).status_code == 302, name
    assert not User.objects.filter(pk=gone.pk).exists()
    assert not SavedView.objects.exists()


def test_a_worker_works_steps_jobs_and_stock(wire, toy):
    queue_shop.stock()
    order, _ = place_order(*PURCHASE, submission_key="1", source="shop")
    process = toy()
    Flow.objects.filter(agent="toy.alpha").update(rate_per_second=100)
    toy()
    agents.script["toy.beta"] = _unavailable
    failed = StepFactory(process=ProcessFactory(state="error"), error=True, finished_at=NOW).process
    chosen = {failed.pk: failed.sequence}
    job = jobs.create("resubmit", chosen, actor="ann", reason="why", source={})

    roles.be("shop_worker")
    wire.run_until_idle()
    scheduler.advance(NOW + timedelta(seconds=1))
    wire.run_until_idle()
    operate_jobs.run()
    with durable("tests.stock"):
        done = ReleaseStock().run(Mock(payload={"order": order.number}))
    roles.be_owner()

    assert Step.objects.filter(process=process, agent="toy.alpha", state="processed").exists()
    assert Flow.objects.get(agent="toy.beta").unavailable_streak > 0
    assert done == {"released": 1}
    assert BulkJob.objects.filter(pk=job, state="done", done=1, refused=0).exists()


def test_the_web_accepts_steers_and_corrects(client):
    queue_shop.stock()
    boss = User.objects.create_superuser("boss")
    letter = DeadLetter.objects.create(received_at=NOW)
    who = {"actor": "operator:boss", "reason": "why"}

    roles.be("shop_web")
    order, _ = place_order(*PURCHASE, submission_key="1", source="shop")
    with durable("tests.correct"):
        take_over({"number": order.number}, {"customer.email": ["a@b.org", "c@d.org"]})
    dead_letters.note(letter.pk, **who)
    dead_letters.discard(letter.pk, **who)
    holds.hold("everything", **who)
    holds.lift("everything", **who)
    set_flow("toy.alpha", {"window": 3, "forced": "open", "rate_per_second": 2}, **who)
    notes.write_on_process(order.process_id, boss.pk, "called", actor="operator:boss")
    with durable("tests.webhook"):
        assert received_webhooks.remember("bank", "1")
    cancel(order.process_id, **who)
    jobs.create("pause", {order.process_id: 1}, source={}, **who)
    roles.be_owner()

    order.refresh_from_db()
    assert order.customer_email == "c@d.org"


def test_beat_reads_its_schedule_and_notes_what_it_asked_for(monkeypatch):
    beat_schedule.ensure()
    # The test's transaction is on it.
    monkeypatch.setattr(schedulers, "close_old_connections", lambda: None)
    roles.be("shop_beat")
    beat = schedulers.DatabaseScheduler(app=app)
    for entry in list(beat.schedule.values()):
        beat.reserve(entry)
    beat.sync()
    roles.be_owner()
    asked = PeriodicTask.objects.filter(enabled=True, last_run_at__gte=NOW)
    assert asked.count() == len(beat.schedule) > 0


def test_the_consumer_accepts_keeps_and_counts(monkeypatch, caplog):
    queue_shop.stock()
    acme = queue_shop.new_client("acme")
    headers = {"client": "acme", "token": tokens.issue(acme)}
    properties = {"reply_to": "replies.acme.one", "correlation_id": "1"}
    monkeypatch.setattr(dead_letters, "MOST_OPEN", 2)

    def sent(key: str, body: bytes, *, again: bool = False) -> Message:
        own = {**properties, "message_id": key}
        return Message(body, own, headers, is_redelivered=again)

    roles.be("shop_consumer")
    good = json.dumps(BODY).encode()
    first, second = (handling.handle(sent("k1", good)).order for _ in range(2))
    assert first
    assert second == first
    kept = [handling.handle(sent(f"k{n}", b"{", again=n == 3)).letter for n in (2, 3, 3)]
    assert kept[2] == kept[1]
    for letter in kept:
        assert letter
        letter.properties["answer"] = "sent"
        letter.save(update_fields=["properties"])
    for n in range(2):
        dropped = handling.handle(sent(f"m{n}", b"{")).letter
        assert dropped
        assert dropped.pk is None
    assert handling.is_database_there()
    roles.be_owner()

    assert "submission_failed" not in caplog.text
    assert DroppedLetters.objects.get(sender="acme").count == 2
    assert set(Alert.objects.values_list("code", "times")) == {
        ("dead_letters_open", 2),
        ("dead_letters_full", 1),
    }


def _unavailable(call: Call) -> dict[str, Any]:
    raise Unavailable("away", "toy")


def forget_the_newest_migration() -> str:
    ((_, newest),) = MigrationLoader(connection).graph.leaf_nodes("workers")
    MigrationRecorder(connection).record_unapplied("workers", newest)
    return newest


@pytest.mark.parametrize("role", roles.ROLES)
def test_each_process_is_told_before_it_starts_that_the_database_is_older(role):
    newest = forget_the_newest_migration()
    roles.be(role)

    assert f"from workers.{newest} on" in str(tables.problem())


def test_worker_starts_without_right_to_read_migrations():
    forget_the_newest_migration()
    mark = roles.make()
    with connection.cursor() as cursor:
        cursor.execute(f"REVOKE SELECT ON django_migrations FROM shop_worker_{mark}")
    roles.be("shop_worker", mark)

    assert tables.problem() is None
