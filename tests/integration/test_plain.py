"""What is settled by one statement is settled as row by row, and the rest is left alone."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from random import Random
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.db import OperationalError, transaction
from django.test import override_settings
from msgspec.structs import replace

from tests.concurrency.matrix.pausing import Session, meet
from tests.concurrency.test_lock_order import unlocked, waiting_for
from tests.integration.both_ways import (
    WORKFLOWS,
    Life,
    Outcome,
    are_the_same,
    outcome,
    rows_now,
)
from tests.integration.conftest import NOW, claim, only
from tests.integration.test_beginning import waits_of
from tests.integration.test_following import AFTER_ALL, settling_of
from tests.integration.test_store_claims import start
from tests.integration.test_store_settling import Toy, a_fault, a_result
from workers import scheduler
from workers.client.submission import submit
from workers.models import Flow, Hold, Journal, Process, Sink, Step
from workers.protocol.messages import Reply
from workers.rules.rows import NewSink
from workers.scheduler.reply_batches import Arrivals
from workers.store.claims import claim_fast, request_data
from workers.store.claims.claim_steps import Claim
from workers.store.db import dialect, prepared_plans
from workers.store.settle import settle_fast, settle_replies
from workers.testing import Wire
from workers.wire import dispatch

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


@pytest.fixture(autouse=True)
def by_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use it in a test's transaction, too, where no plan is kept."""
    monkeypatch.setattr(prepared_plans, "decides_in_database", lambda: True)


@pytest.fixture
def roomy() -> None:
    Flow.objects.update(window=1000)


Way = Callable[[Sequence[Reply], datetime], list[Claim]]


def _row_by_row(batch: Sequence[Reply], now: datetime) -> list[Claim]:
    return settle_replies.settle(batch, "scheduler", now).claims


def _plain_first(batch: Sequence[Reply], now: datetime) -> list[Claim]:
    done = settle_fast.settle(batch, "scheduler", now)
    found = list(done.claims)
    if done.waited_for:
        found += claim_fast.claim_due(done.waited_for, "scheduler", now)
    rest = [reply for reply in batch if reply.step_id not in done.settled]
    return found + (settle_replies.settle(rest, "scheduler", now).claims if rest else [])


def _outcome(way: Way, batch: Sequence[Reply], now: datetime, *, is_counted: bool) -> Outcome:
    return outcome(lambda: way(batch, now), is_counted=is_counted)


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have backoffs of the two ways drawn alike."""
    monkeypatch.setattr("workers.rules.backoff.Backoff.seconds", lambda self, count, rng=None: 10.0)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_comes_both_ways_come_to_the_same(seed: int, roomy: None, steady: None) -> None:
    life = Life(seed)
    met: Counter[str] = Counter()
    for _ in range(25):
        life.submit(WORKFLOWS)
        life.claim()
        if life.random.random() < 0.6:
            life.disturb()
        batch = life.replies(faults=0.2)
        by_rows = _outcome(_row_by_row, batch, life.now, is_counted=False)

        are_the_same(_outcome(_plain_first, batch, life.now, is_counted=False), by_rows)

        met["plain"] += len(settle_fast.settle(batch, "scheduler", life.now).settled)
        met["all"] += len(batch)
        life.under_way += claim(life.now)
        settle_replies.settle(batch, "scheduler", life.now)
    assert 0 < met["plain"] < met["all"], met


@pytest.mark.parametrize("seed", range(8))
def test_where_room_is_scarce_both_ways_take_the_same(seed: int) -> None:
    life = Life(seed)
    settled = 0
    for _ in range(15):
        for _ in range(life.random.randint(1, 4)):
            life.submit(("toy_line", "toy_diamond", "toy_parallel", "toy_narrow"))
        Flow.objects.update(window=life.random.randint(1, 6))
        life.claim()
        batch = life.replies(faults=0)
        by_rows = _outcome(_row_by_row, batch, life.now, is_counted=True)

        are_the_same(_outcome(_plain_first, batch, life.now, is_counted=True), by_rows)

        done = settle_fast.settle(batch, "scheduler", life.now)
        assert done.settled == {reply.step_id for reply in batch}
        life.under_way += done.claims
        settled += len(batch)
    assert settled


@pytest.mark.parametrize("state", ["processing", "error", "compensating"])
def test_a_step_that_nobody_may_claim_has_none_queue_behind_it(state: str, toy: Toy) -> None:
    still, process = toy(), toy()
    found = {one.process_id: one for one in claim()}
    start(list(found.values()))
    Step.objects.filter(process=still, name="two").update(state="pending", not_before=NOW)
    Process.objects.filter(pk=still.pk).update(
        state=state, paused_at=NOW if state == "processing" else None
    )

    done = settle_fast.settle([a_result(found[process.pk])], "scheduler", NOW)

    assert [(one.process_id, one.step) for one in done.claims] == [(process.pk, "two")]
    assert not done.waited_for


def test_of_a_process_with_another_reply_nothing_is_settled(toy: Toy) -> None:
    toy("toy_parallel")
    alone = toy("toy_parallel")
    a, b, other, _ = sorted(claim(), key=lambda one: (one.process_id, one.step))
    start([a, b, other])
    for beside in (a_fault(b, "transient"), replace(a_result(b), claim_id=uuid4()), a_result(a)):
        before = rows_now()

        with transaction.atomic():
            done = settle_fast.settle([a_result(a), beside, a_result(other)], "scheduler", NOW)
            assert done.settled == {other.step_id}
            assert only(alone, "a").state == "processed"
            assert Step.objects.filter(process_id=a.process_id, state="processing").count() == 2
            transaction.set_rollback(True)

        assert rows_now() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda one: Process.objects.update(paused_at=NOW),
        lambda one: Process.objects.update(needs_decision=True),
        lambda one: Process.objects.update(outcome="compensated"),
        lambda one: Process.objects.update(state="error"),
        lambda one: Hold.objects.create(kind="step", name="other", reason="", began_at=NOW),
        lambda one: Step.objects.filter(pk=one.step_id).update(reply={"v": 1}),
        lambda one: Step.objects.filter(pk=one.step_id).update(deferral={}),
        lambda one: Step.objects.filter(pk=one.step_id).update(claim_id=uuid4()),
        lambda one: Step.objects.filter(name="two").update(is_judged=True),
        lambda one: Step.objects.filter(name="two").update(delay_seconds=1),
        lambda one: Step.objects.filter(name="two").update(is_in_doubt=True),
        lambda one: Step.objects.filter(name="two").update(not_before=NOW),
        lambda one: Step.objects.filter(name="two").update(began_at=NOW),
        lambda one: Step.objects.filter(name="two").update(undoes_id=one.step_id),
        lambda one: Step.objects.filter(name="two").update(state="error"),
        lambda one: Flow.objects.filter(agent="toy.alpha").update(unavailable_streak=1),
        lambda one: Flow.objects.filter(agent="toy.beta").update(
            opened_at=NOW, open_until=NOW + timedelta(seconds=9)
        ),
        lambda one: Flow.objects.filter(agent="toy.beta").update(forced="open"),
        lambda one: Flow.objects.filter(agent="toy.beta").update(rate_per_second=1),
        lambda one: Flow.objects.filter(agent="toy.beta").delete(),
    ],
    ids=[
        *("paused", "to be decided on", "turned round", "in error", "held"),
        *("filed", "deferred", "superseded"),
        *("judged", "delayed", "in doubt", "not before", "begun before", "undo step", "failed"),
        *("not reached", "breaker open", "forced", "rate", "unknown agent"),
    ],
)
def test_what_is_not_plain_is_left_as_it_was(change: Callable[[Claim], Any], toy: Toy) -> None:
    toy()
    (one,) = claim()
    start([one])
    change(one)
    before = rows_now()

    assert settle_fast.settle([a_result(one)], "scheduler", NOW) == settle_fast.Plain()

    assert rows_now() == before


def test_answers_of_a_service_that_was_not_always_reached_are_left_in_their_order(
    toy: Toy,
) -> None:
    toy()
    toy()
    first, second = claim()
    start([first, second])

    done = settle_fast.settle([a_fault(first, "unavailable"), a_result(second)], "scheduler", NOW)

    assert done == settle_fast.Plain()


def test_a_reply_without_a_result_and_one_that_comes_twice(toy: Toy) -> None:
    process = toy()
    (one,) = claim()
    reply = Reply(one.step_id, one.claim_id, 1)

    assert settle_fast.settle([reply], "scheduler", NOW).settled == {one.step_id}
    assert only(process, "one").result == {}
    # Its claim is over: the others tell of that.
    assert settle_fast.settle([reply], "scheduler", NOW) == settle_fast.Plain()


@pytest.mark.parametrize("place", ["input", "result"])
def test_what_is_too_large_does_not_come_along(place: str, toy: Toy) -> None:
    # Of random signs, for PostgreSQL goes by what is left when it has pressed them.
    large = {"signs": Random(7).randbytes(2000).hex()}
    process = toy(**(large if place == "input" else {"n": 1}))
    (one,) = claim()

    (two,) = settle_fast.settle(
        [a_result(one, **(large if place == "result" else {}))], "s", NOW
    ).claims

    assert two.context is None
    context = request_data.material([two]).contexts[process.pk]
    assert (context.input if place == "input" else context.results["one"]) == large


def test_results_that_are_large_together_do_not_come_along(toy: Toy) -> None:
    process = toy("toy_diamond")
    # Each comes along by itself; six of them do not.
    result = {"signs": Random(7).randbytes(900).hex()}
    (top,) = claim()
    Step.objects.filter(process=process, name="left").update(
        state="skipped", result=None, finished_at=NOW
    )
    (right,) = settle_fast.settle([a_result(top, **result)], "s", NOW).claims
    assert right.context is not None
    more = Step.objects.get(process=process, name="left")
    for number in range(4):
        more.pk, more.name, more.position = None, f"more {number}", 10 + number
        more.idempotency_key, more.state, more.result = f"more:{number}", "processed", result
        more.save()

    (bottom,) = settle_fast.settle([a_result(right, **result)], "s", NOW).claims

    assert bottom.context is None
    assert len(request_data.material([bottom]).contexts[process.pk].results) == 6


def test_where_those_that_wait_cannot_be_claimed_the_replies_are_settled_all_the_same(
    toy: Toy, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    Flow.objects.filter(agent="toy.alpha").update(window=1)
    toy()
    waiting = toy()
    (one,) = claim()
    with monkeypatch.context() as patch:
        patch.setattr(claim_fast, "claim_due", Mock(side_effect=OperationalError("timeout")))

        assert scheduler.settle([a_result(one)], NOW).applied == 1

        claim_fast.claim_due.assert_called_once()
    assert [request["step"] for (body,) in _bundles(wire) for request in body["requests"]] == [
        "two"
    ]
    assert only(waiting, "one").state == "pending"
    scheduler.advance(NOW)
    assert only(waiting, "one").state == "processing"


def test_a_relay_is_asked_where_somebody_is_to_be_told(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(dispatch, "report_later", lambda: asked.append(True))
    toy()
    submit("toy_line", subject="Told", input={}, sinks=[NewSink("queue", "a")], now=NOW)
    first, told = claim()

    scheduler.settle([a_result(first)], NOW)
    assert asked == []
    scheduler.settle([a_result(told)], NOW)
    assert asked == [True]


def _bundles(wire: Wire) -> list[Any]:
    return [sent.body for sent in wire.of(dispatch.RUN_BUNDLE)]


def test_who_is_to_be_told_is_said(toy: Toy) -> None:
    toy()
    submit("toy_line", subject="Told", input={}, sinks=[NewSink("queue", "a")], now=NOW)
    first, told = claim()

    assert not settle_fast.settle([a_result(first)], "scheduler", NOW).has_news
    assert settle_fast.settle([a_result(told)], "scheduler", NOW).has_news
    assert Sink.objects.get().last == Process.objects.get(subject="Told").sequence == 3


@pytest.mark.django_db(transaction=True)
class TestItsTransaction:
    """Where plans are kept, and nobody else's transaction is open."""

    @pytest.fixture(autouse=True)
    def by_one_statement(self) -> None:
        """Use it where the engine would."""

    def test_it_waits_for_the_database_once(self, toy: Toy) -> None:
        for _ in range(3):
            toy()
        first, *batch = claim()
        start([first, *batch])
        settle_fast.settle([a_result(first)], "scheduler", NOW)

        waits = waits_of(
            lambda: settle_fast.settle([a_result(one) for one in batch], "scheduler", NOW)
        )

        assert waits == 1
        assert Step.objects.filter(name="one", state="processed").count() == 3

    def test_the_next_batch_is_taken_while_the_database_works_on_one(
        self, toy: Toy, wire: Wire
    ) -> None:
        processes = [toy(), toy()]
        found = claim()
        start(found)
        bodies = [dispatch.replies_to_wire([a_result(one)]) for one in found]
        under_way: list[bool] = []

        def take(most: int) -> list[list[Any]]:
            under_way.append(dialect.is_pipelined())
            return [[bodies[1]]] if under_way == [False, True] else []

        scheduler.settle_all(Arrivals(bodies[:1], take))

        # Before the first, for it is not full; while each is settled; and once nothing is left.
        assert under_way == [False, True, True, False]
        assert [only(process, "one").state for process in processes] == ["processed"] * 2

    def test_it_is_not_used_in_a_caller_s_transaction_nor_without_kept_plans(
        self, toy: Toy
    ) -> None:
        toy()
        (one,) = claim()

        with transaction.atomic():
            assert settle_fast.settle([a_result(one)], "scheduler", NOW) == settle_fast.Plain()
        with override_settings(SAS_KEPT_PLANS=0):
            assert settle_fast.settle([a_result(one)], "scheduler", NOW) == settle_fast.Plain()
        assert settle_fast.settle([a_result(one)], "scheduler", NOW).settled == {one.step_id}

    @pytest.mark.parametrize("place", [0, 2])
    def test_one_that_waits_for_a_step_holds_none_after_it(self, place: int, toy: Toy) -> None:
        for _ in range(4):
            toy()
        found = sorted(claim(), key=attrgetter("step_id"))
        ids = [one.step_id for one in found]
        replies = [a_result(one) for one in found[::-1]]

        with waiting_for(ids[place], lambda: settle_fast.settle(replies, "s", NOW)) as results:
            free = unlocked(ids[place + 1 :])

        assert free == ids[place + 1 :]
        assert results[0].settled == set(ids)

    @pytest.mark.parametrize(
        ("then", "is_plain"),
        [
            ("UPDATE workers_step SET reply = '{}' WHERE id = %s", False),
            (
                "UPDATE workers_step SET started_at = now(), complete_by = now() + interval '1 h'"
                " WHERE id = %s",
                True,
            ),
        ],
        ids=["filed", "started"],
    )
    def test_what_its_agent_writes_meanwhile_is_read_again(
        self, then: str, is_plain: bool, toy: Toy
    ) -> None:
        process = toy()
        toy()
        one, other = claim()
        replies = [a_result(one), a_result(other)]

        with waiting_for(
            one.step_id, lambda: settle_fast.settle(replies, "s", NOW), then=then
        ) as results:
            pass

        assert results[0].settled == {other.step_id} | ({one.step_id} if is_plain else set())
        assert only(process, "one").state == ("processed" if is_plain else "processing")
        told = Journal.objects.filter(process=process, event="processed")
        # The journal keeps what the row forgets.
        assert ["started_at" in entry.detail for entry in told] == [True] * is_plain

    def test_two_branches_that_end_at_once_do_not_lose_their_join(
        self, two: tuple[Session, Session], toy: Toy
    ) -> None:
        process = toy("toy_diamond")
        (top,) = claim()
        branches = settle_fast.settle([a_result(top)], "s", NOW).claims

        turns = meet(two, *(settling_of(one) for one in branches), after=AFTER_ALL)

        assert [turn.result.settled for turn in turns] == [{one.step_id} for one in branches]
        assert sum(len(turn.result.claims) for turn in turns) == 1
        assert only(process, "bottom").state == "processing"

    def test_an_order_that_is_paused_just_now_goes_no_further(
        self, two: tuple[Session, Session], toy: Toy
    ) -> None:
        process = toy()
        (one,) = claim()

        @transaction.atomic
        def pause() -> None:
            Process.objects.filter(pk=process.pk).update(paused_at=NOW)

        _, settling_it = meet(two, pause, settling_of(one), after=1)

        assert settling_it.result == settle_fast.Plain()
        assert [only(process, name).state for name in ("one", "two")] == ["processing", "waiting"]
