"""What one batch of replies made ready leaves while the next is settled."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.db import OperationalError
from django.test import override_settings
from django.utils import timezone

from tests.integration.conftest import only
from tests.integration.test_store_claims import start
from workers import scheduler, tasks
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.agent import Agent
from workers.definitions.registry import register_workflow
from workers.definitions.workflow import Workflow, step
from workers.exceptions import BrokerRefused, UnknownAgent
from workers.models import Alert, Journal, Process, Step
from workers.protocol.messages import Bundle, Reply
from workers.runtime import db_connections
from workers.scheduler import background_sender, claiming, settlement
from workers.scheduler.bundles import Load
from workers.scheduler.reply_batches import Arrivals, none_waits
from workers.store.claims import claim_steps
from workers.testing import Wire
from workers.wire import bundle_dispatch, dispatch

pytestmark = pytest.mark.django_db

AGENTS = {"toy.alpha", "toy.beta", "toy.gamma", "toy.mailer"}


@pytest.fixture(autouse=True)
def no_pause() -> None:
    claiming.pause.end()


def answered(count: int) -> tuple[list[Process], list[Reply]]:
    """Return processes whose first step was called, and the answers that nobody settled yet."""
    processes = [submit("toy_line", subject=f"Toy {n}", input={}) for n in range(count)]
    taken = claim_steps.claim_due(AGENTS, "scheduler")
    start(taken)
    return processes, [Reply(one.step_id, one.claim_id, one.attempt, result={}) for one in taken]


def claimed(wire: Wire) -> list[int]:
    """Return the steps on the wire, in the order in which they were sent."""
    return [
        request["step_id"] for sent in wire.of(dispatch.RUN_BUNDLE) for request in sent.requests
    ]


def second_of(processes: Sequence[Process]) -> list[int]:
    return [only(process, "two").pk for process in processes]


def lot(*names: str) -> Callable[[], Load]:
    return lambda: Load([(Bundle(name, 30, ()), []) for name in names])


def settle_by(size: int, given: Sequence[Reply]) -> None:
    """Settle replies in batches of so many."""
    with override_settings(SAS_SETTLE_BATCH=size):
        scheduler.settle_all(Arrivals([dispatch.replies_to_wire(list(given))], none_waits))


def test_replies_of_several_batches_all_leave_in_the_order_of_their_batches(wire: Wire) -> None:
    processes, given = answered(5)
    bodies = [dispatch.replies_to_wire([one]) for one in given]

    with override_settings(SAS_SETTLE_BATCH=2):
        tasks.settle_now(*bodies)

    assert claimed(wire) == second_of(processes)
    assert set(Step.objects.filter(name="two").values_list("state", flat=True)) == {"processing"}
    wire.run_until_idle()
    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}


def test_the_next_batch_is_settled_while_the_first_one_s_claims_are_under_way(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, given = answered(2)
    is_settling = threading.Event()
    seen: list[bool] = []
    real = settlement.settle

    def settle(batch: Sequence[Reply], **options: Any) -> Any:
        if batch[0] == given[1]:
            is_settling.set()
        return real(batch, **options)

    def send(*message: Any, **options: Any) -> None:
        seen.append(is_settling.wait(20))
        wire.take(*message, **options)

    monkeypatch.setattr(settlement, "settle", settle)
    monkeypatch.setattr(dispatch, "_send", send)

    settle_by(1, given)

    assert seen == [True, True]
    assert claimed(wire) == second_of(processes)


def test_single_batch_is_sent_by_the_settling_thread(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, given = answered(2)
    threads: list[threading.Thread] = []

    def send(*message: Any, **options: Any) -> None:
        threads.append(threading.current_thread())

    monkeypatch.setattr(dispatch, "_send", send)

    settle_by(2, given)

    assert set(threads) == {threading.current_thread()}


def test_what_the_broker_refuses_of_a_batch_is_handed_back(wire: Wire) -> None:
    processes, given = answered(3)
    wire.is_down = True

    settle_by(2, given)

    rows = [only(process, "two") for process in processes]
    assert [(row.state, row.failure_count, row.lost_count) for row in rows] == [
        ("pending", 0, 0)
    ] * 3
    assert Journal.objects.filter(event="handed_back").count() == 3
    assert claiming.pause.is_on()


def test_what_cannot_be_built_of_a_batch_is_told_of_and_the_rest_leaves(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = registry.agent

    def agent(name: str) -> Agent:
        if name == "toy.gamma":
            raise UnknownAgent(name)
        return known(name)

    def broken(given: Any, results: Any) -> Any:
        return {"x": given["missing"]}

    register_workflow(
        Workflow(
            "toy_broken_later",
            1,
            (
                step("one", "toy.alpha"),
                step("two", "toy.beta", after="one", request=broken),
                step("three", "toy.gamma", after="one"),
            ),
        )
    )
    bad = submit("toy_broken_later", subject="Bad", input={})
    processes, given = answered(2)
    monkeypatch.setattr(registry, "agent", agent)

    # The first batch is what cannot be built.
    given.sort(key=lambda one: Step.objects.get(pk=one.step_id).process_id != bad.pk)
    settle_by(1, given)

    assert claimed(wire) == second_of(processes)
    two, three = only(bad, "two"), only(bad, "three")
    assert (two.state, two.fault["code"]) == ("error", "request_builder_failed")
    assert (three.state, three.failure_count) == ("pending", 0)
    assert not Alert.objects.filter(code="unknown_definition").exists()


def test_where_the_database_goes_away_the_batches_before_have_left(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, given = answered(2)
    real = settlement.settle

    def settle(batch: Sequence[Reply], **options: Any) -> Any:
        if batch[0] == given[1]:
            raise OperationalError("server closed the connection")
        return real(batch, **options)

    monkeypatch.setattr(settlement, "settle", settle)

    with pytest.raises(OperationalError):
        settle_by(1, given)

    assert claimed(wire) == second_of(processes[:1])
    assert only(processes[1], "one").state == "processing"


def lots(
    monkeypatch: pytest.MonkeyPatch, became: Callable[[str], background_sender.Outcome]
) -> None:
    monkeypatch.setattr(background_sender, "send", lambda load: became(load.bundles[0][0].agent))


def test_sender_reports_lot_in_calling_thread_before_next_lot_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[tuple[str, object]] = []
    me = threading.current_thread()

    def became(agent: str) -> background_sender.Outcome:
        events.append((agent, threading.current_thread() is me))
        return background_sender.Outcome(len(events))

    lots(monkeypatch, became)
    sender = background_sender.BackgroundSender(
        lambda outcome: events.append((f"told {outcome.sent}", threading.current_thread() is me))
    )

    sender.send(lot("first"))
    sender.send(lot("second"))
    sender.wait()
    sender.wait()

    assert events == [("first", False), ("told 1", True), ("second", False), ("told 3", True)]


@pytest.mark.parametrize("is_telling", [False, True], ids=["under way", "where it is told"])
def test_what_goes_wrong_with_a_lot_is_logged_and_the_next_leaves(
    is_telling: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    left: list[str] = []
    told: list[int] = []

    def became(agent: str) -> background_sender.Outcome:
        left.append(agent)
        if agent == "first" and not is_telling:
            raise OperationalError("what was that?")
        return background_sender.Outcome(len(left))

    def tell(outcome: background_sender.Outcome) -> None:
        if outcome.sent == 1:
            raise OperationalError("what was that?")
        told.append(outcome.sent)

    lots(monkeypatch, became)
    sender = background_sender.BackgroundSender(tell)

    sender.send(lot("first"))
    sender.send(lot("second"))
    sender.wait()

    assert (left, told) == (["first", "second"], [2])
    assert [record.message for record in caplog.records] == ["background_send_failed"]


def test_second_wait_after_interrupt_still_reports_sent_lot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lots(monkeypatch, lambda agent: background_sender.Outcome(1))
    told: list[int] = []
    sender = background_sender.BackgroundSender(lambda outcome: told.append(outcome.sent))
    sender.send(lot("first"))
    with monkeypatch.context() as patch:
        patch.setattr(background_sender, "wait", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            sender.wait()

    sender.wait()

    assert told == [1]


def test_its_thread_lets_no_soft_limit_through() -> None:
    masked = background_sender._thread().submit(signal.pthread_sigmask, signal.SIG_BLOCK, set())

    assert signal.SIGUSR1 in masked.result()


def test_its_thread_has_its_own_connection_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[bool] = []
    me = threading.current_thread()

    @contextmanager
    def kept() -> Iterator[None]:
        looked.append(threading.current_thread() is me)
        yield

    monkeypatch.setattr(db_connections, "kept", kept)
    lots(monkeypatch, lambda agent: background_sender.Outcome(1))
    sender = background_sender.BackgroundSender(lambda outcome: None)
    sender.send(lot("first"))
    sender.wait()

    assert looked == [False]


def test_a_forked_child_gets_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The object that it has from its parent has no thread: it would wait for good."""
    threads: list[threading.Thread] = []

    def became(agent: str) -> background_sender.Outcome:
        threads.append(threading.current_thread())
        return background_sender.Outcome(1)

    lots(monkeypatch, became)
    sender = background_sender.BackgroundSender(lambda outcome: None)
    sender.send(lot("of the parent"))
    sender.wait()
    child = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: child)

    sender.send(lot("of the child"))
    sender.wait()

    assert len(set(threads)) == 2


def test_an_agent_whose_queue_refuses_is_tried_once_and_the_others_are_served(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def send(bundle: Bundle) -> None:
        tried.append(bundle.agent)
        if bundle.agent == "toy.alpha":
            raise BrokerRefused("its queue is full")

    monkeypatch.setattr(bundle_dispatch, "send", send)
    one = claim_steps.Claim(1, 1, uuid4(), 1, "one", "toy.alpha", 30, "key")
    names = ("toy.alpha", "toy.alpha", "toy.beta")

    outcome = background_sender.send(Load([(Bundle(name, 30, ()), [one]) for name in names]))

    assert tried == ["toy.alpha", "toy.beta"]
    assert (outcome.sent, len(outcome.refused)) == (1, 2)


def test_claims_of_a_queue_that_refuses_come_again_after_a_while(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit("toy_line", subject="Refused", input={})
    submit("toy_narrow", subject="Served", input={})
    real = bundle_dispatch.send

    def send(bundle: Bundle) -> str | None:
        if bundle.agent == "toy.alpha":
            raise BrokerRefused("its queue is full")
        return real(bundle)

    monkeypatch.setattr(bundle_dispatch, "send", send)
    now = timezone.now()

    assert scheduler.advance() == 1

    put_off = Step.objects.get(process__subject="Refused", name="one")
    assert put_off.state == "pending"
    assert put_off.not_before >= now + timedelta(seconds=settlement.REFUSED_SECONDS)
    assert not claiming.pause.is_on()
