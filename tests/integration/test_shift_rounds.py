"""Rounds of a shift: what has ended is handed over first, then a bounded amount is taken."""

import threading
from collections.abc import Callable, Collection
from time import monotonic
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError

from tests.factories import put
from tests.integration.conftest import only
from tests.integration.test_shift import begun, held_call, lines
from workers import scheduler
from workers.agent import call_pool, replies, shift
from workers.agent.call_pool import Work
from workers.definitions import registry
from workers.definitions.agent import Deadline
from workers.models import Step
from workers.protocol.messages import Reply
from workers.store.claims import claim_steps
from workers.store.settle import filed_replies
from workers.wire import dispatch, queue_drain


@pytest.fixture
def acts(monkeypatch) -> list[str]:
    """What a process does, in order, while its queue always holds one more wake-up."""
    acts: list[str] = []

    def noted(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def do(*args: Any, **kwargs: Any) -> Any:
            acts.append(name)
            return act(*args, **kwargs)

        return do

    def take_one(queue: str, tasks: Collection[str]) -> str:
        acts.append("wake-up")
        return dispatch.TAKE if acts.count("wake-up") < 1000 else ""

    monkeypatch.setattr(queue_drain, "take_one", take_one)
    # Each round waits for the call that is under way.
    monkeypatch.setattr(shift.Shift, "_seconds_to_wait", lambda _: 10.0)
    monkeypatch.setattr(scheduler, "settle", noted("settle", scheduler.settle))
    monkeypatch.setattr(scheduler, "take_due", noted("take", scheduler.take_due))
    monkeypatch.setattr(shift, "LEAST_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(shift, "LOOK_SECONDS", 0.0)
    return acts


def test_ended_calls_are_handed_over_before_a_wake_up_is_answered(wire, pulse, acts):
    (process,) = lines(1)

    shift.take("sas.agents")

    assert acts[:2] == ["take", "settle"]
    assert set(wire.states(process).values()) == {"processed"}


def test_one_taking_answers_all_wake_ups_of_a_look(wire, pulse, acts, monkeypatch):
    monkeypatch.setattr(shift, "MOST_WAKE_UPS", 7)
    lines(1)

    shift.take("sas.agents")

    # Three steps, one after the other: each of the three rounds settles, looks and takes once.
    round_of_acts = ["settle", *["wake-up"] * 7, "take"]
    assert acts[1 : 1 + len(round_of_acts)] == round_of_acts


def test_a_failed_taking_rests_and_is_tried_again(wire, pulse, monkeypatch):
    (process,) = lines(1)
    with monkeypatch.context() as patched:
        patched.setattr(claim_steps, "claim_due", Mock(side_effect=OperationalError("timeout")))
        one = begun()
    assert one._rest_until > monotonic()

    one.take_due()

    assert only(process, "one").started_at is not None
    one.work()


# Beside a long call


@pytest.mark.parametrize(
    ("seconds", "timeout_seconds", "is_taken"),
    [(100, 30, True), (620, 30, True), (640, 30, False), (640, 10, True)],
)
def test_a_process_takes_what_ends_within_its_limit_beside_a_long_call(
    seconds, timeout_seconds, is_taken, wire, pulse
):
    _, may_end = held_call("toy.beta")
    long, quick = lines(2)
    put(Step.objects.filter(process=long, name="one"), agent="toy.beta", timeout_seconds=600)
    put(Step.objects.filter(process=quick, name="one"), timeout_seconds=timeout_seconds)
    one = shift.Shift("sas.agents")
    one._due = {"toy.beta"}
    one.take_due()
    one._began -= seconds

    one.look_for_due()
    one.take_due()

    assert (only(quick, "one").started_at is not None) == is_taken
    may_end.set()
    one.work()


# What the database does not take


def test_answers_are_kept_while_the_database_is_away_and_hold_up_no_other(wire, pulse, monkeypatch):
    monkeypatch.setattr(replies, "AGAIN_SECONDS", 0.0)
    # The test's own connection stays.
    monkeypatch.setattr(replies, "connection", Mock())
    kept, other = lines(2)
    Step.objects.filter(process=other, name="one").update(agent="toy.beta")
    kept_id = only(kept, "one").pk
    one = begun()
    settle, file, tries = scheduler.settle, filed_replies.file, []

    def is_away(reply: Reply) -> bool:
        if reply.step_id == kept_id and len(tries) < 4:
            tries.append(reply.step_id)
            return True
        return False

    def settle_or_fail(batch: list[Reply], **options: Any) -> Any:
        if any(map(is_away, batch)):
            raise OperationalError("away")
        return settle(batch, **options)

    def file_or_fail(reply: Reply, *args: Any) -> bool:
        if is_away(reply):
            raise OperationalError("away")
        return file(reply, *args)

    monkeypatch.setattr(scheduler, "settle", settle_or_fail)
    monkeypatch.setattr(filed_replies, "file", file_or_fail)
    one.work()

    assert tries == [kept_id] * 4
    for process in (kept, other):
        assert set(wire.states(process).values()) == {"processed"}


def test_an_answer_whose_claim_no_longer_holds_is_given_up(wire, pulse):
    (process,) = lines(1)
    one = begun()
    Step.objects.filter(process=process, name="one").update(claim_id=uuid4())

    one.work()

    assert (one._kept, only(process, "one").state) == ({}, "processing")


def test_answers_kept_at_the_soft_limit_are_handed_over_until_the_hard_one(
    wire, pulse, monkeypatch
):
    _, may_end = held_call("toy.alpha")
    (process,) = lines(1)
    one = begun()
    step = only(process, "one")
    assert step.claim_id is not None
    one._kept = {registry.agent("toy.alpha"): [Reply(step.pk, step.claim_id, 1, result={})]}
    monkeypatch.setattr(one, "_go_on", Mock(side_effect=SoftTimeLimitExceeded))
    monkeypatch.setattr(one, "_outstay", lambda: None)

    one.work()

    assert only(process, "one").state == "processed"
    may_end.set()


def test_a_call_that_raises_loses_no_other_answer():
    both = threading.Barrier(2)

    def call(work: Any) -> Reply | None:
        both.wait(10)
        if work.request == "bad":
            raise ValueError("a fault of ours")
        return Reply(1, uuid4(), 1, result={})

    agent = registry.agent("toy.beta")
    calls = call_pool.Calls(call)
    deadline = Deadline(30)
    calls.begin([Work(agent, name, deadline) for name in ("bad", "good")])  # type: ignore[arg-type]
    ended: list[Any] = []

    def take_all() -> None:
        while True:
            ended.extend(calls.take(10))

    with pytest.raises(ValueError, match="a fault of ours"):
        take_all()

    assert [one.work.request for one in ended] == ["good"]
