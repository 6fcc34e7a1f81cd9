"""What a settlement makes ready goes by what its agent's row says once that is locked."""

import logging
from collections.abc import Callable
from datetime import timedelta
from operator import attrgetter
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.db import OperationalError, transaction
from django.test import override_settings

from tests.concurrency.matrix.pausing import meet
from tests.concurrency.test_lock_order import unlocked, waiting_for
from tests.integration.conftest import NOW, claim, only
from tests.integration.test_store_settling import a_result, settle
from workers import scheduler
from workers.client.submission import submit
from workers.models import Flow, Hold, Journal, Process, Sink, Step
from workers.protocol.messages import Reply
from workers.rules.rows import NewSink
from workers.scheduler import settlement
from workers.store.claims import claim_steps, release
from workers.store.claims.claim_steps import Claim
from workers.store.settle import settle_replies
from workers.testing.agent_processes import room as anywhere
from workers.wire import dispatch

#: Statements of a settlement of several replies: the planner's settings, the lock of processes,
#: their steps, the lock of flow rows.
AFTER_READ, AFTER_LOCKED = 3, 4


def settling_of(*claims: Claim) -> Callable[[], settle_replies.SettleResult]:
    # Twice, for a lone reply foresees its agents: the second is stale.
    replies = [a_result(claim) for claim in claims]
    return lambda: settle([*replies, replies[0]])


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("after", "winner"), [(AFTER_READ, 1), (AFTER_LOCKED, 0)], ids=["read", "locked"]
)
def test_two_settlements_share_an_agent_s_room(after, winner, two, toy):
    toy()
    # They come to the same agent from two.
    Step.objects.filter(process=toy(), name="one").update(agent="toy.gamma")
    first, second = sorted(claim(), key=attrgetter("process_id"))
    Flow.objects.filter(agent="toy.beta").update(window=1)

    turns = meet(two, settling_of(first), settling_of(second), after=after)

    # Whoever has the agent's row first has its room, and the other finds it taken.
    assert [len(turn.result.claims) for turn in turns] == [int(winner == 0), int(winner == 1)]
    states = list(Step.objects.filter(name="two").order_by("pk").values_list("state", flat=True))
    assert sorted(states) == ["pending", "processing"]


def _flow(**values: Any) -> Callable[[], object]:
    return lambda: Flow.objects.filter(agent="toy.beta").update(**values)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "change",
    [
        _flow(forced="open"),
        _flow(rate_per_second=1, tokens=0, refilled_at=NOW),
        _flow(window=0),
        lambda: Hold.objects.create(kind="agent", name="toy.beta", began_at=NOW),
        lambda: Flow.objects.filter(agent="toy.beta").delete(),
    ],
    ids=["forced", "rate", "window", "hold", "gone"],
)
def test_what_has_changed_before_the_lock_counts(change, two, toy):
    process = toy()
    (one,) = claim()

    turn, changed = meet(two, settling_of(one), change, after=AFTER_READ)

    assert not isinstance(changed.result, Exception)
    assert (turn.result.applied, turn.result.claims) == (1, [])
    assert [only(process, name).state for name in ("one", "two")] == ["processed", "pending"]
    entries = Journal.objects.filter(process=process, step__name="two")
    assert [(row.event, row.before, row.after) for row in entries] == [
        ("ready", "waiting", "pending")
    ]


def test_room_that_came_free_is_told_and_nothing_of_another_order_is_touched(toy):
    Flow.objects.filter(agent="toy.alpha").update(window=1)
    toy()
    waiting = toy()
    (one,) = claim()

    settled = settle([a_result(one)])

    assert [ready.step for ready in settled.claims] == ["two"]
    assert settled.waited_for == {"toy.alpha"}
    assert only(waiting, "one").state == "pending"


@pytest.mark.parametrize(("seconds", "waited_for"), [(0.05, set()), (0.15, {"toy.alpha"})])
def test_where_there_is_room_a_new_step_is_left_to_its_wake_up_for_a_moment(
    seconds, waited_for, toy
):
    toy()
    (one,) = claim()
    waiting = toy()

    settled = settle([a_result(one)], NOW + timedelta(seconds=seconds))

    assert [ready.step for ready in settled.claims] == ["two"]
    assert settled.waited_for == waited_for
    assert only(waiting, "one").state == "pending"


def test_no_step_that_was_queued_just_now_hides_those_behind_it(toy):
    first, other, _ = toy("toy_narrow"), toy("toy_narrow"), toy("toy_narrow")
    (one, two) = claim()[:2]
    later = NOW + timedelta(seconds=5)
    release.uncalled([two], "agent@test", "unknown here", later)
    assert (one.process_id, two.process_id) == (first.pk, other.pk)

    assert settle([a_result(one)], later).waited_for == {"toy.gamma"}


@override_settings(SAS_CLAIM_BATCH=2)
def test_as_many_steps_are_taken_after_a_settlement_as_room_came_free(toy):
    Flow.objects.filter(agent="toy.alpha").update(window=5)
    for _ in range(10):
        toy()
    found = claim()
    while more := claim():
        found += more

    waited_for = settle([a_result(one) for one in found]).waited_for

    assert len(found) == 5
    assert len(scheduler.take_due(waited_for, anywhere(), NOW)) == 5
    assert Step.objects.filter(name="one", state="processing").count() == 5


def test_settlement_reports_no_freed_room_if_no_step_waits(toy):
    toy()
    (one,) = claim()

    assert settle([a_result(one)]).waited_for == set()


@pytest.mark.parametrize("error", [OperationalError("timeout"), ValueError("what is that?")])
def test_where_those_that_wait_cannot_be_claimed_they_wait(error, toy, monkeypatch, caplog):
    Flow.objects.filter(agent="toy.alpha").update(window=1)
    toy()
    waiting = toy()
    (one,) = claim()
    waited_for = settle([a_result(one)]).waited_for
    here = anywhere()
    with monkeypatch.context() as patch:
        patch.setattr(claim_steps, "claim_due", Mock(side_effect=error))

        with caplog.at_level(logging.ERROR, "workers.scheduler"):
            assert scheduler.take_due(waited_for, here, NOW) == []

    assert [record.message for record in caplog.records] == ["taking_failed"]
    # It may have been written.
    assert not here.is_answered
    assert only(waiting, "one").state == "pending"
    (taken,) = scheduler.take_due(waited_for, anywhere(), NOW)
    assert taken.process_id == waiting.pk


def test_what_a_reply_that_cannot_be_stored_leads_to_wakes_once(monkeypatch):
    woken: list[set[str]] = []
    waiting = settle_replies.SettleResult(waited_for={"toy.alpha"}, applied=1)
    outcomes = [ValueError("what is that?"), waiting]
    monkeypatch.setattr(settle_replies, "apply", Mock(side_effect=outcomes))
    monkeypatch.setattr(settlement.waking, "wake", woken.append)

    assert scheduler.settle([Reply(1, uuid4(), 1, result={})], NOW).applied == 1

    assert [agents for agents in woken if agents] == [{"toy.alpha"}]


def test_reply_asks_for_relay_only_if_its_process_has_a_sink(toy, monkeypatch):
    asked: list[bool] = []
    monkeypatch.setattr(dispatch, "report_later", lambda: asked.append(True))
    toy()
    submit("toy_line", subject="Told", input={}, sinks=[NewSink("queue", "a")], now=NOW)
    first, told = claim()

    scheduler.settle([a_result(first)], NOW)
    assert asked == []
    scheduler.settle([a_result(told)], NOW)
    assert asked == [True]
    assert Sink.objects.get().last == Process.objects.get(subject="Told").sequence == 3


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
class TestItsTransaction:
    """Where plans are kept, and nobody else's transaction is open."""

    @pytest.mark.parametrize("place", [0, 2])
    def test_settlement_waiting_for_a_step_lock_holds_no_later_step(self, place, toy):
        for _ in range(4):
            toy()
        claims = sorted(claim(), key=attrgetter("step_id"))
        ids = [claim.step_id for claim in claims]
        replies = [a_result(claim) for claim in claims[::-1]]

        with waiting_for(ids[place], lambda: settle(replies)) as results:
            free = unlocked(ids[place + 1 :])

        assert free == ids[place + 1 :]
        assert results[0].applied == 4

    def test_what_its_agent_writes_meanwhile_is_read_again(self, toy):
        process, _ = toy(), toy()
        one, other = claim()
        replies = [a_result(one), a_result(other)]
        filed = "UPDATE workers_step SET reply = '{\"result\": {}}' WHERE id = %s"

        with waiting_for(one.step_id, lambda: settle(replies), then=filed) as results:
            pass

        assert results[0].applied == 2
        # What the row has got meanwhile is gone with its claim.
        assert only(process, "one").reply is None

    def test_two_branches_that_end_at_once_do_not_lose_their_join(self, two, toy):
        process = toy("toy_diamond")
        (top,) = claim()
        left, right = settle([a_result(top)]).claims

        turns = meet(two, settling_of(left), settling_of(right), after=AFTER_LOCKED)

        assert [turn.result.applied for turn in turns] == [1, 1]
        assert sum(len(turn.result.claims) for turn in turns) == 1
        assert only(process, "bottom").state == "processing"

    def test_an_order_that_is_paused_just_now_goes_no_further(self, two, toy):
        process = toy()
        (one,) = claim()

        @transaction.atomic
        def pause() -> None:
            Process.objects.filter(pk=process.pk).update(paused_at=NOW)

        _, settling_it = meet(two, pause, settling_of(one), after=1)

        assert (settling_it.result.applied, settling_it.result.claims) == (1, [])
        assert [only(process, name).state for name in ("one", "two")] == ["processed", "pending"]
