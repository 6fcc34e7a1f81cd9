"""What is settled by one statement is settled as row by row, and the rest is left alone."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from itertools import zip_longest
from operator import attrgetter, itemgetter
from random import Random
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.db import OperationalError, transaction
from django.test import override_settings

from tests.concurrency.matrix.pausing import Session, meet
from tests.concurrency.test_lock_order import unlocked, waiting_for
from tests.integration.conftest import NOW, claim, only
from tests.integration.test_beginning import waits_of
from tests.integration.test_store_claims import start
from tests.integration.test_store_settling import Toy, a_fault, a_result
from workers import dispatch, registry, scheduler
from workers.messages import Reply
from workers.models import Alert, Flow, Hold, Journal, Process, Sink, Step
from workers.rows import NewSink
from workers.store import claims, plain, requests, settling
from workers.store.claims import Claim
from workers.submission import submit
from workers.testing import Wire

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]

WORKFLOWS = (
    "toy_line",
    "toy_diamond",
    "toy_undoable",
    "toy_optional",
    "toy_conditional",
    "toy_parallel",
    "toy_fallback_undo",
    "toy_asking",
    "toy_delayed",
    "toy_answered",
    "toy_narrow",
)


OTHERS = (Process, Flow, Sink)


@pytest.fixture(autouse=True)
def by_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use it in a test's transaction, too, where no plan is kept."""
    monkeypatch.setattr(plain, "is_quicker", lambda: True)


@pytest.fixture
def roomy() -> None:
    Flow.objects.update(window=1000)


Row = dict[str, Any]
#: What a way of settling some replies came to: its claims, and all rows.
Outcome = tuple[list[Row], list[Row]]
Way = Callable[[Sequence[Reply], datetime], list[Claim]]


def _row_by_row(batch: Sequence[Reply], now: datetime) -> list[Claim]:
    return settling.settle(batch, "scheduler", now).claims


def _plain_first(batch: Sequence[Reply], now: datetime) -> list[Claim]:
    done = plain.settle(batch, "scheduler", now)
    found = list(done.claims)
    if done.waited_for:
        found += claims.claim_due(done.waited_for, "scheduler", now)
    rest = [reply for reply in batch if reply.step_id not in done.settled]
    return found + (settling.settle(rest, "scheduler", now).claims if rest else [])


def _rows() -> list[Row]:
    """Return all rows; of a claim whether it is there, of the journal its order in a process.

    Steps by their names: undo steps that are made twice have other numbers.
    """
    steps = list(Step.objects.order_by("process_id", "position").values())
    names: dict[int | None, Any] = {
        step["id"]: (step["process_id"], step["name"]) for step in steps
    }
    for step in steps:
        step["claim_id"] = step["claim_id"] is not None
        step["undoes_id"] = names.get(step["undoes_id"])
        del step["id"]
    told = Journal.objects.order_by("process_id", "pk").values()
    journal = [{name: row[name] for name in row if name != "id"} for row in told]
    for row in journal:
        row["step_id"] = names.get(row["step_id"])
        row["detail"].pop("claim", None)
        for name in ("claimed_at", "started_at", "complete_by"):
            if name in row["detail"]:
                row["detail"][name] = datetime.fromisoformat(row["detail"][name])
    tables = [steps, journal, *(model.objects.order_by("pk").values() for model in OTHERS)]
    alerts = Alert.objects.order_by("cause").values("cause", "code", "message", "times")
    return [row for table in [*tables, alerts] for row in table]


def _said(taken: Sequence[Claim], *, is_counted: bool) -> list[Row]:
    """Return what claims say, their steps' rows, and what their requests are built from."""
    held = dict(Step.objects.values_list("pk", "claim_id"))
    material = requests.material(taken).contexts
    anew = requests.material([replace(one, owner=None, context=None) for one in taken]).contexts
    assert repr(sorted(material.items())) == repr(sorted(anew.items()))
    assert all(held[one.step_id] == one.claim_id for one in taken)
    left_out = {"claim_id", "step_id", "undoes_id", "owner", "context"} | (
        set() if is_counted else {"in_flight"}
    )
    said = [
        {one.name: getattr(claim, one.name) for one in fields(claim) if one.name not in left_out}
        for claim in taken
    ]
    return sorted(said, key=itemgetter("process_id", "step"))


def _outcome(way: Way, batch: Sequence[Reply], now: datetime, *, is_counted: bool) -> Outcome:
    """Return what a way comes to, and take it back."""
    with transaction.atomic():
        taken = way(batch, now)
        found = (_said(taken, is_counted=is_counted), _rows())
        transaction.set_rollback(True)
    return found


def _are_the_same(one: Outcome, other: Outcome) -> None:
    """Say where two outcomes differ, for all of them is too much to read."""
    for some, others in zip(one, other, strict=True):
        assert [
            {name: (row.get(name), beside.get(name)) for name in {**row, **beside}}
            for row, beside in zip_longest(some, others, fillvalue={})
            if row != beside
        ][:2] == []


def _all_due(now: datetime) -> list[Claim]:
    return claims.claim_due({one.name for one in registry.agents()}, "scheduler", now)


class _Life:
    """Processes that go on at random, and now and then something out of the ordinary."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = NOW
        self.under_way: list[Claim] = []

    def submit(self, workflows: Sequence[str]) -> None:
        number = Process.objects.count()
        sinks = [NewSink("queue", "replies.a.b")] if self.random.random() < 0.3 else []
        given = {"n": number, "maybe": bool(number % 2), "day": self.now.isoformat()}
        submit(
            self.random.choice(workflows),
            subject=f"Toy {number}",
            input=given,
            sinks=sinks,
            now=self.now,
        )

    def claim(self) -> None:
        self.now += timedelta(seconds=self.random.choice([1, 70, 4000]))
        self.under_way += _all_due(self.now)

    def replies(self, faults: float) -> list[Reply]:
        """Return replies of some claims, mostly of started ones that went well."""
        self.random.shuffle(self.under_way)
        count = self.random.randint(1, max(1, len(self.under_way)))
        some, self.under_way = self.under_way[:count], self.under_way[count:]
        start(some, self.now)
        found = [self._reply(one, faults) for one in some]
        if found and self.random.random() < 0.1 * bool(faults):
            found.append(found[0])
        return found

    def _reply(self, one: Claim, faults: float) -> Reply:
        chance = self.random.random() / faults if faults else 1
        if chance < 0.5:
            return a_fault(one, self.random.choice(["transient", "permanent", "unavailable"]))
        if chance < 0.7:
            return replace(a_result(one), claim_id=uuid4())
        if chance < 0.9:
            deferral = {"seconds": 60, "question": "", "permission": "", "is_asked_once": False}
            return Reply(one.step_id, one.claim_id, one.attempt, deferral=deferral)
        size = self.random.choice([1, 3000])
        return a_result(one, size=size, text="x" * size, by=one.agent)

    def disturb(self) -> None:
        """Do what makes rows anything but plain, or what undoes it."""
        some = Process.objects.order_by("pk")[self.random.randrange(Process.objects.count())]
        match self.random.randrange(10):
            case 0:
                Process.objects.filter(pk=some.pk).update(paused_at=self.now)
            case 1:
                Process.objects.update(paused_at=None)
            case 2:
                Hold.objects.get_or_create(
                    kind="agent", name="toy.beta", defaults={"reason": "", "began_at": self.now}
                )
            case 3:
                Hold.objects.all().delete()
            case 4:
                Flow.objects.filter(agent="toy.beta").update(unavailable_streak=3)
            case 5:
                Flow.objects.filter(agent="toy.alpha").update(rate_per_second=0.5, tokens=1)
            case 6:
                Flow.objects.update(unavailable_streak=0, rate_per_second=None, forced=None)
            case 7:
                Flow.objects.filter(agent="toy.gamma").update(forced="open")
            case 8:
                Step.objects.filter(state="processing", process=some).update(reply={"v": 1})
            case 9:
                Process.objects.filter(pk=some.pk).update(needs_decision=True)


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have backoffs of the two ways drawn alike."""
    monkeypatch.setattr("workers.backoff.Backoff.seconds", lambda self, count, rng=None: 10.0)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_comes_both_ways_come_to_the_same(seed: int, roomy: None, steady: None) -> None:
    life = _Life(seed)
    met: Counter[str] = Counter()
    for _ in range(25):
        life.submit(WORKFLOWS)
        life.claim()
        if life.random.random() < 0.6:
            life.disturb()
        batch = life.replies(faults=0.2)
        by_rows = _outcome(_row_by_row, batch, life.now, is_counted=False)

        _are_the_same(_outcome(_plain_first, batch, life.now, is_counted=False), by_rows)

        met["plain"] += len(plain.settle(batch, "scheduler", life.now).settled)
        met["all"] += len(batch)
        life.under_way += claim(life.now)
        settling.settle(batch, "scheduler", life.now)
    assert 0 < met["plain"] < met["all"], met


@pytest.mark.parametrize("seed", range(8))
def test_where_room_is_scarce_both_ways_take_the_same(seed: int) -> None:
    life = _Life(seed)
    settled = 0
    for _ in range(15):
        for _ in range(life.random.randint(1, 4)):
            life.submit(("toy_line", "toy_diamond", "toy_parallel", "toy_narrow"))
        Flow.objects.update(window=life.random.randint(1, 6))
        life.claim()
        batch = life.replies(faults=0)
        by_rows = _outcome(_row_by_row, batch, life.now, is_counted=True)

        _are_the_same(_outcome(_plain_first, batch, life.now, is_counted=True), by_rows)

        done = plain.settle(batch, "scheduler", life.now)
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

    done = plain.settle([a_result(found[process.pk])], "scheduler", NOW)

    assert [(one.process_id, one.step) for one in done.claims] == [(process.pk, "two")]
    assert not done.waited_for


def test_of_a_process_with_another_reply_nothing_is_settled(toy: Toy) -> None:
    toy("toy_parallel")
    alone = toy("toy_parallel")
    a, b, other, _ = sorted(claim(), key=lambda one: (one.process_id, one.step))
    start([a, b, other])
    for beside in (a_fault(b, "transient"), replace(a_result(b), claim_id=uuid4()), a_result(a)):
        before = _rows()

        with transaction.atomic():
            done = plain.settle([a_result(a), beside, a_result(other)], "scheduler", NOW)
            assert done.settled == {other.step_id}
            assert only(alone, "a").state == "processed"
            assert Step.objects.filter(process_id=a.process_id, state="processing").count() == 2
            transaction.set_rollback(True)

        assert _rows() == before


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
    before = _rows()

    assert plain.settle([a_result(one)], "scheduler", NOW) == plain.Plain()

    assert _rows() == before


def test_answers_of_a_service_that_was_not_always_reached_are_left_in_their_order(
    toy: Toy,
) -> None:
    toy()
    toy()
    first, second = claim()
    start([first, second])

    done = plain.settle([a_fault(first, "unavailable"), a_result(second)], "scheduler", NOW)

    assert done == plain.Plain()


def test_a_reply_without_a_result_and_one_that_comes_twice(toy: Toy) -> None:
    process = toy()
    (one,) = claim()
    reply = Reply(one.step_id, one.claim_id, 1)

    assert plain.settle([reply], "scheduler", NOW).settled == {one.step_id}
    assert only(process, "one").result == {}
    # Its claim is over: the others tell of that.
    assert plain.settle([reply], "scheduler", NOW) == plain.Plain()


@pytest.mark.parametrize("place", ["input", "result"])
def test_what_is_too_large_does_not_come_along(place: str, toy: Toy) -> None:
    # Of random signs, for PostgreSQL goes by what is left when it has pressed them.
    large = {"signs": Random(7).randbytes(2000).hex()}
    process = toy(**(large if place == "input" else {"n": 1}))
    (one,) = claim()

    (two,) = plain.settle([a_result(one, **(large if place == "result" else {}))], "s", NOW).claims

    assert two.context is None
    context = requests.material([two]).contexts[process.pk]
    assert (context.input if place == "input" else context.results["one"]) == large


def test_results_that_are_large_together_do_not_come_along(toy: Toy) -> None:
    process = toy("toy_diamond")
    # Each comes along by itself; six of them do not.
    result = {"signs": Random(7).randbytes(900).hex()}
    (top,) = claim()
    Step.objects.filter(process=process, name="left").update(
        state="skipped", result=None, finished_at=NOW
    )
    (right,) = plain.settle([a_result(top, **result)], "s", NOW).claims
    assert right.context is not None
    more = Step.objects.get(process=process, name="left")
    for number in range(4):
        more.pk, more.name, more.position = None, f"more {number}", 10 + number
        more.idempotency_key, more.state, more.result = f"more:{number}", "processed", result
        more.save()

    (bottom,) = plain.settle([a_result(right, **result)], "s", NOW).claims

    assert bottom.context is None
    assert len(requests.material([bottom]).contexts[process.pk].results) == 6


def test_where_those_that_wait_cannot_be_claimed_the_replies_are_settled_all_the_same(
    toy: Toy, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    Flow.objects.filter(agent="toy.alpha").update(window=1)
    toy()
    waiting = toy()
    (one,) = claim()
    with monkeypatch.context() as patch:
        patch.setattr(claims, "claim_due", Mock(side_effect=OperationalError("timeout")))

        assert scheduler.settle([a_result(one)], NOW).applied == 1

        claims.claim_due.assert_called_once()
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

    assert not plain.settle([a_result(first)], "scheduler", NOW).has_news
    assert plain.settle([a_result(told)], "scheduler", NOW).has_news
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
        plain.settle([a_result(first)], "scheduler", NOW)

        waits = waits_of(lambda: plain.settle([a_result(one) for one in batch], "scheduler", NOW))

        assert waits == 1
        assert Step.objects.filter(name="one", state="processed").count() == 3

    def test_it_is_not_used_in_a_caller_s_transaction_nor_without_kept_plans(
        self, toy: Toy
    ) -> None:
        toy()
        (one,) = claim()

        with transaction.atomic():
            assert plain.settle([a_result(one)], "scheduler", NOW) == plain.Plain()
        with override_settings(SAS_KEPT_PLANS=0):
            assert plain.settle([a_result(one)], "scheduler", NOW) == plain.Plain()
        assert plain.settle([a_result(one)], "scheduler", NOW).settled == {one.step_id}

    @pytest.mark.parametrize("place", [0, 2])
    def test_one_that_waits_for_a_step_holds_none_after_it(self, place: int, toy: Toy) -> None:
        for _ in range(4):
            toy()
        found = sorted(claim(), key=attrgetter("step_id"))
        ids = [one.step_id for one in found]
        replies = [a_result(one) for one in found[::-1]]

        with waiting_for(ids[place], lambda: plain.settle(replies, "s", NOW)) as results:
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
            one.step_id, lambda: plain.settle(replies, "s", NOW), then=then
        ) as results:
            pass

        assert results[0].settled == {other.step_id} | ({one.step_id} if is_plain else set())
        assert only(process, "one").state == ("processed" if is_plain else "processing")
        told = Journal.objects.filter(process=process, event="processed")
        # The journal keeps what the row forgets.
        assert ["started_at" in entry.detail for entry in told] == [True] * is_plain

    @pytest.fixture
    def two(self, transactional_db: None) -> Iterator[tuple[Session, Session]]:
        pair = Session(), Session()
        yield pair
        for session in pair:
            session.close()

    def test_two_branches_that_end_at_once_do_not_lose_their_join(
        self, two: tuple[Session, Session], toy: Toy
    ) -> None:
        process = toy("toy_diamond")
        (top,) = claim()
        branches = plain.settle([a_result(top)], "s", NOW).claims

        turns = meet(two, *(_settling(one) for one in branches), after=AFTER_ALL)

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

        _, settling_it = meet(two, pause, _settling(one), after=1)

        assert settling_it.result == plain.Plain()
        assert [only(process, name).state for name in ("one", "two")] == ["processing", "waiting"]

    def test_two_of_them_share_an_agent_s_room(
        self, two: tuple[Session, Session], toy: Toy
    ) -> None:
        toy()
        toy()
        first, second = claim()
        Flow.objects.filter(agent="toy.beta").update(window=1)

        turns = meet(two, _settling(first), _settling(second), after=AFTER_ALL)

        assert [len(turn.result.claims) for turn in turns] == [1, 0]
        states = Step.objects.filter(name="two").order_by("pk").values_list("state", flat=True)
        assert list(states) == ["processing", "pending"]


#: Its statements: the locks of processes and of flow rows, and the one that does it.
AFTER_ALL = 3


def _settling(one: Claim) -> Callable[[], plain.Plain]:
    return lambda: plain.settle([a_result(one)], "s", NOW)
