"""A worker that died over a claim is told of as that, and nothing is told that nobody knows."""

import logging
import os
from datetime import datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from billiard.exceptions import WorkerLostError
from celery.worker import state
from django.utils import timezone

from tests.integration.conftest import NOW
from workers.agent import dead_children
from workers.client.submission import submit
from workers.models import Journal, Process, Step
from workers.protocol.messages import Reply
from workers.rules import dead_workers
from workers.rules.rows import StepRow
from workers.store.claims import claim_steps
from workers.store.claims.claim_steps import Claim, Room
from workers.store.claims.release import note_death as note
from workers.store.expire import expire_claims
from workers.store.settle import filed_replies
from workers.wire import dispatch

HOW = "signal 9 (SIGKILL)"
LATE = timedelta(seconds=40)


def claim(now: datetime = NOW) -> list[Claim]:
    here = Room("agent@test", lambda agent: 10, is_idle=True)
    return claim_steps.claim_due({"toy.alpha"}, here, now)


def begin(count: int = 1, now: datetime = NOW) -> list[Claim]:
    for number in range(count):
        submit("toy_line", subject=f"Toy {number}", input={}, now=now)
    return claim(now)


def die(now: datetime = NOW, *, is_gone: bool = True) -> list[str]:
    """Note that all processes of the worker have died; return the claims that were noted."""
    return [noted["claim_id"] for noted in note("@test", lambda name: is_gone, HOW, now)]


def test_a_death_is_logged_with_its_process_and_trace():
    (claim,) = begin()
    (noted,) = note("@test", lambda name: True, HOW, NOW)
    process = Process.objects.get(pk=claim.process_id)
    about = {"process_id": process.pk, "subject": process.subject, "trace": process.uid.hex}
    assert about.items() <= noted.items()


def test_a_death_is_noted_at_once_and_counts_when_the_claim_expires(wire):
    claims = begin()

    assert die() == [str(claims[0].claim_id)]

    row = Step.objects.get(pk=claims[0].step_id)
    assert (row.state, row.failure_count, row.claim_id) == ("processing", 0, claims[0].claim_id)
    assert (row.fault["code"], row.fault["message"]) == ("worker_died", f"its worker died: {HOW}")

    assert expire_claims.expire("supervisor@test", NOW + LATE).reset == 1

    row.refresh_from_db()
    assert (row.state, row.failure_count) == ("pending", 1)
    assert row.fault["message"] == f"its worker died: {HOW}"
    detail = Journal.objects.get(event="expired").detail
    assert detail["fault"]["code"] == "worker_died"


def test_the_reason_of_an_order_that_kills_its_worker_is_that(wire):
    now = NOW
    claims = begin(now=now)
    step_id = claims[0].step_id
    for attempt in (1, 2, 3):
        Step.objects.filter(pk=step_id).update(not_before=now)
        if attempt > 1:
            claims = claim(now)
        assert die(now) == [str(claims[0].claim_id)]
        now += LATE
        expire_claims.expire("supervisor@test", now)

    row = Step.objects.get(pk=step_id)
    assert (row.state, row.failure_count) == ("error", 3)
    assert row.fault["message"] == f"its worker died in each of 3 attempts: {HOW}"


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (["dies"], f"its worker died: {HOW}"),
        (["dies", "dies"], f"its worker died in each of 2 attempts: {HOW}"),
        (["silent", "dies", "dies"], f"its worker died in the last 2 attempts: {HOW}"),
        (["dies", "silent", "dies"], f"its worker died: {HOW}"),
        (["dies", "silent"], None),
        (["silent"], None),
    ],
)
def test_only_what_is_known_is_said(history, message):
    step = StepRow.__new__(StepRow)
    step.fault, step.failure_count = None, 0
    for what in history:
        step.claim_id = uuid4()
        if what == "dies":
            step.fault = dead_workers.fault_of(step, HOW)
        told = dead_workers.of_claim(step)
        step.fault = told or expire_claims.EXPIRED
        step.failure_count += 1

    assert (told and told.message) == message


def test_of_a_claim_that_is_answered_late_or_another_s_nothing_is_noted(wire):
    (answered,) = begin(1)
    filed_replies.file(Reply(answered.step_id, answered.claim_id, 1, result={}), "agent@test", NOW)
    before = list(Step.objects.order_by("pk").values_list("fault", "state", "claim_id"))

    assert die() == []

    assert list(Step.objects.order_by("pk").values_list("fault", "state", "claim_id")) == before
    begin(1)
    before = list(Step.objects.order_by("pk").values_list("fault", "state", "claim_id"))
    assert die(NOW + LATE) == []
    assert die(is_gone=False) == []
    assert note("/another", lambda name: True, HOW, NOW) == []
    assert list(Step.objects.order_by("pk").values_list("fault", "state", "claim_id")) == before
    assert not Journal.objects.filter(event="expired").exists()


@pytest.mark.parametrize(
    ("name", "is_gone"),
    [
        (f"agent@host:{os.getpid()}/run", False),
        ("agent@host:999999999/run", True),
        ("agent@test", False),
    ],
    ids=["alive", "gone", "nobody's"],
)
def test_process_whose_id_does_not_exist_is_gone(name, is_gone):
    assert dead_children.is_gone(name) == is_gone


def lost(how: str = HOW) -> WorkerLostError:
    return WorkerLostError(f"Worker exited prematurely: {how} Job: 5.")


def tell(exception: Exception, name: str = dispatch.TAKE) -> bool:
    """Tell the parent of a failure; say whether it took it for a death."""
    thread = dead_children.on_failure(sender=SimpleNamespace(name=name), exception=exception)
    if thread is not None:
        thread.join(10)
    return thread is not None


@pytest.mark.django_db(transaction=True)
def test_a_parent_notes_the_death_of_a_child_and_logs_which_order_it_was(wire, caplog, monkeypatch):
    # The rows say what it held.
    monkeypatch.setattr(dead_children, "mark_of", lambda name: "@test")
    monkeypatch.setattr(dead_children, "is_gone", lambda name: name == "agent@test")
    claims = begin(now=timezone.now())

    with caplog.at_level(logging.ERROR):
        assert tell(lost())

    row = Step.objects.get(pk=claims[0].step_id)
    assert row.fault["message"] == f"its worker died: {HOW}"
    (record,) = [one for one in caplog.records if one.message == "worker_died"]
    assert (record.subject, record.step, record.attempt) == ("Toy 0", "one", 1)
    assert record.claim_id == str(claims[0].claim_id)
    # What the customer told stays out of the log.
    assert "Ann" not in str(vars(record))


def test_what_is_no_death_of_an_agent_s_child_is_left_alone(wire, monkeypatch):
    claims = begin()

    assert not tell(ValueError("no death"))
    assert not tell(lost(), name=dispatch.ADVANCE)
    # A worker that is ended kills its children itself, and hands their claims back.
    monkeypatch.setattr(state, "should_terminate", True)
    assert not tell(lost())

    assert Step.objects.get(pk=claims[0].step_id).fault is None


@pytest.mark.parametrize(
    ("message", "how"),
    [
        (f"Worker exited prematurely: {HOW} Job: 5.", HOW),
        ("Worker exited prematurely: exitcode 3 Job: 12.", "exitcode 3"),
        ("Worker exited prematurely: exitcode 3", "exitcode 3"),
        ("Worker exited prematurely: exitcode 3.", "exitcode 3"),
        ("Worker exited prematurely: exitcode 0.", "exitcode 0"),
        ("Worker exited prematurely: exitcode 0 Job: 12.", "nobody knows how"),
        ("Worker exited prematurely: KeyboardInterrupt.", "KeyboardInterrupt"),
        ("anything else", "nobody knows how"),
    ],
)
def test_how_a_child_ended_is_read_from_what_billiard_says(message, how):
    assert dead_children.how(WorkerLostError(message)) == how
