"""What is claimed by one statement is claimed as row by row, and the rest is left to that."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError, connection, transaction
from django.test import override_settings

from tests.concurrency.matrix.pausing import Session, meet
from tests.concurrency.test_lock_order import waiting_for
from tests.integration.both_ways import (
    WORKFLOWS,
    Life,
    are_the_same,
    every_agent,
    outcome,
    rows_now,
)
from tests.integration.conftest import NOW, claim, only
from tests.integration.test_beginning import waits_of
from tests.integration.test_store_settling import Toy, a_fault, a_result
from workers import scheduler
from workers.client.submission import submit
from workers.models import Flow, Hold, Process, Sink, Step
from workers.rules.rows import NewSink
from workers.store.claims import claim_fast, claim_steps, request_data
from workers.store.db import dialect, prepared_plans
from workers.store.flow import flow_control
from workers.store.settle import settle_replies
from workers.testing import Wire
from workers.wire import dispatch

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]

LATER = NOW + timedelta(seconds=70)


@pytest.fixture(autouse=True)
def by_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use it in a test's transaction, too, where no plan is kept."""
    monkeypatch.setattr(prepared_plans, "decides_in_database", lambda: True)


def plainly(agents: set[str] | None = None) -> claim_fast._Found:
    """Return what the statement alone finds."""
    found = claim_fast._claim_plain(agents or every_agent(), "scheduler", NOW, None)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_due_both_ways_take_the_same(seed: int) -> None:
    life = Life(seed)
    met: Counter[str] = Counter()
    for _ in range(25):
        for _ in range(life.random.randint(1, 4)):
            life.submit(WORKFLOWS)
        Flow.objects.update(window=life.random.choice([1, 2, 5, 1000]))
        if life.random.random() < 0.25:
            life.quieten()
        elif life.random.random() < 0.8:
            life.disturb()
        settle_replies.settle(life.replies(faults=0.3), "scheduler", life.now)
        life.now += timedelta(seconds=life.random.choice([0, 1, 70, 4000]))
        with override_settings(SAS_CLAIM_BATCH=life.random.choice([1, 3, 200])):
            by_rows = outcome(
                lambda: claim_steps.claim_due(every_agent(), "scheduler", life.now), is_counted=True
            )

            are_the_same(
                outcome(
                    lambda: claim_fast.claim_due(every_agent(), "scheduler", life.now),
                    is_counted=True,
                ),
                by_rows,
                # What is left to the rows comes after what is not, whatever the agents' names.
                is_ordered=False,
            )

            found = claim_fast._claim_plain(every_agent(), "scheduler", life.now, None)
            assert found is not None
            rest = claim_steps.claim_due(found.left, "scheduler", life.now)
        met["plain"] += len(found.taken)
        met["rest"] += len(rest)
        life.under_way += [*found.taken, *rest]
    assert min(met["plain"], met["rest"]) > 0, met


@pytest.mark.parametrize(
    ("room", "batch"), [(1, 200), (3, 200), (4, 200), (200, 3), (200, 4), (200, 5)]
)
def test_it_takes_as_many_as_there_is_room_for_and_says_whether_there_may_be_more(
    room: int, batch: int, toy: Toy
) -> None:
    processes = [toy() for _ in range(4)]
    Flow.objects.filter(agent="toy.alpha").update(window=room)
    with override_settings(SAS_CLAIM_BATCH=batch):
        with transaction.atomic():
            expected = claim_steps.claim_due({"toy.alpha"}, "scheduler", NOW)
            transaction.set_rollback(True)

        found = plainly({"toy.alpha"})

    most = min(room, batch)
    assert [one.process_id for one in found.taken] == [one.pk for one in processes[:most]]
    assert (found.taken.is_cut_off, expected.is_cut_off) == (most <= 4, most <= 4)
    assert found.left == set()


def test_where_there_is_no_room_nothing_is_taken(toy: Toy) -> None:
    Flow.objects.filter(agent="toy.alpha").update(window=1)
    toy()
    assert len(plainly().taken) == 1
    toy()
    before = rows_now()

    found = plainly()

    assert (found.taken, found.left) == ([], set())
    assert not found.taken.is_to_go_on
    assert rows_now() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda row: Hold.objects.create(kind="step", name="other", reason="", began_at=NOW),
        lambda row: Flow.objects.filter(agent="toy.alpha").update(unavailable_streak=1),
        lambda row: Flow.objects.filter(agent="toy.alpha").update(opened_at=NOW, open_until=LATER),
        lambda row: Flow.objects.filter(agent="toy.alpha").update(forced="open"),
        lambda row: Flow.objects.filter(agent="toy.alpha").update(rate_per_second=1, tokens=1),
        lambda row: Process.objects.filter(pk=row.process_id).update(outcome="processing"),
        lambda row: Step.objects.filter(pk=row.pk).update(is_in_doubt=True),
        lambda row: Step.objects.filter(pk=row.pk).update(began_at=NOW),
        lambda row: Step.objects.filter(pk=row.pk).update(
            undoes_id=Step.objects.get(process=row.process_id, name="two").pk
        ),
    ],
    ids=[
        *("held", "not reached", "breaker open", "forced", "rate"),
        *("turned round", "in doubt", "begun before", "undo step"),
    ],
)
def test_an_agent_of_whose_steps_anything_else_is_to_be_decided_is_left_as_it_was(
    change: Callable[[Step], Any], toy: Toy
) -> None:
    toy()
    process = toy()
    change(only(process, "one"))
    before = rows_now()

    found = plainly({"toy.alpha"})

    assert (found.taken, found.left) == ([], {"toy.alpha"})
    assert rows_now() == before


def test_other_agents_are_served_meanwhile(toy: Toy) -> None:
    doubtful = toy()
    Step.objects.filter(process=doubtful, name="one").update(is_in_doubt=True)
    narrow = submit("toy_narrow", subject="Narrow", input={}, now=NOW)

    found = plainly()

    assert [one.process_id for one in found.taken] == [narrow.pk]
    assert found.left == {"toy.alpha"}
    assert [one.process_id for one in claim_fast.claim_due(every_agent(), "s", NOW)] == [
        doubtful.pk
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"process": {"paused_at": NOW}},
        {"process": {"state": "error"}},
        {"process": {"state": "compensating"}},
        {"step": {"not_before": LATER}},
        {"step": {"agent": "toy.of.nobody"}},
    ],
    ids=["paused", "in error", "on its way back", "not yet", "no flow row"],
)
def test_what_is_not_due_is_not_taken(change: dict[str, Any], toy: Toy) -> None:
    process, other = toy(), toy()
    Process.objects.filter(pk=process.pk).update(**change.get("process", {"version": 1}))
    Step.objects.filter(process=process, name="one").update(**change.get("step", {"position": 0}))

    found = plainly(every_agent() | {"toy.of.nobody"})

    assert [one.process_id for one in found.taken] == [other.pk]
    assert found.left == set()


def test_two_steps_of_one_order_begin_it_once(toy: Toy) -> None:
    process = submit(
        "toy_parallel", subject="Told", input={}, sinks=[NewSink("queue", "a")], now=NOW
    )

    found = plainly()

    assert sorted(one.step for one in found.taken) == ["a", "b"]
    assert found.taken.has_news
    told = list(process.journal.order_by("pk").values_list("event", "sequence"))
    assert told == [("submitted", 1), ("started", 2), ("claimed", None), ("claimed", None)]
    assert Sink.objects.get().last == Process.objects.get().sequence == 2
    assert not plainly().taken.has_news


def test_who_asked_for_no_word_gets_none(toy: Toy) -> None:
    toy()

    assert not plainly().taken.has_news


@pytest.mark.parametrize("place", ["input", "result"])
def test_what_is_too_large_does_not_come_along(place: str, toy: Toy) -> None:
    # Of random signs, for PostgreSQL goes by what is left when it has pressed them.
    large = {"signs": Random(7).randbytes(2000).hex()}
    process = toy(**(large if place == "input" else {"n": 1}))
    (one,) = claim()
    Flow.objects.filter(agent="toy.beta").update(forced="open")
    settle_replies.settle([a_result(one, **(large if place == "result" else {"n": 2}))], "s", NOW)
    Flow.objects.filter(agent="toy.beta").update(forced=None)

    (two,) = plainly().taken

    assert two.context is None
    context = request_data.material([two]).contexts[process.pk]
    assert (context.input if place == "input" else context.results["one"]) == large


def test_a_step_that_failed_before_comes_with_its_failures(toy: Toy) -> None:
    toy()
    (one,) = claim()
    settle_replies.settle([a_fault(one, "transient")], "s", NOW)
    Step.objects.update(began_at=None, not_before=NOW)

    (again,) = plainly().taken

    assert (again.attempt, again.failure_count, again.in_doubt) == (2, 1, False)
    assert again.claim_id != one.claim_id


def test_of_an_agent_whose_flow_row_is_not_locked_nothing_is_taken(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps may have become due between the lock and the statement."""
    toy()
    lock = flow_control.lock_backlogged
    monkeypatch.setattr(flow_control, "lock_backlogged", lambda agents, now: lock(set(), now))

    assert plainly().taken == []
    assert Step.objects.filter(state="processing").count() == 0


@pytest.mark.parametrize("error", [ValueError("what is that?"), OperationalError("a deadlock")])
def test_where_the_rest_cannot_be_taken_what_was_taken_is_there_to_be_sent(
    error: Exception, toy: Toy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    doubtful = toy()
    Step.objects.filter(process=doubtful, name="one").update(is_in_doubt=True)
    narrow = submit("toy_narrow", subject="Narrow", input={}, now=NOW)
    monkeypatch.setattr(claim_steps, "claim_due", Mock(side_effect=error))

    taken = claim_fast.claim_due(every_agent(), "s", NOW)

    assert [one.process_id for one in taken] == [narrow.pk]
    assert [record.message for record in caplog.records] == ["due_steps_left"]


@pytest.mark.parametrize("word", ["is_cut_off", "has_news"])
def test_what_the_rest_has_to_say_is_said_of_all(
    word: str, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    Step.objects.filter(process=toy(), name="one").update(is_in_doubt=True)
    rest = claim_steps.Taken()
    monkeypatch.setattr(claim_steps, "claim_due", lambda agents, worker, now: rest)
    assert not getattr(claim_fast.claim_due({"toy.alpha"}, "s", NOW), word)

    setattr(rest, word, True)

    assert getattr(claim_fast.claim_due({"toy.alpha"}, "s", NOW), word)


def test_of_an_agent_that_is_left_no_order_is_locked(toy: Toy) -> None:
    for _ in range(3):
        toy()
    Flow.objects.filter(agent="toy.alpha").update(unavailable_streak=1)

    def locks() -> list[tuple[int, str]]:
        return dialect.fetch("SELECT id, xmax::text FROM workers_process ORDER BY id", [])

    before = locks()

    assert plainly({"toy.alpha"}).left == {"toy.alpha"}

    assert locks() == before


def test_a_claim_forgets_that_one_was_lost_and_not_when_the_order_began(toy: Toy) -> None:
    process = toy()
    Step.objects.filter(process=process, name="one").update(lost_count=2)
    Process.objects.update(started_at=NOW - timedelta(hours=1))

    assert len(plainly().taken) == 1

    assert only(process, "one").lost_count == 0
    assert Process.objects.get().started_at == NOW - timedelta(hours=1)


def test_a_call_that_must_not_be_repeated_is_seen_where_there_is_no_room(toy: Toy) -> None:
    Flow.objects.filter(agent="toy.alpha").update(window=0)
    Step.objects.filter(process=toy(), name="one").update(is_in_doubt=True)

    assert plainly({"toy.alpha"}).left == {"toy.alpha"}


@pytest.mark.parametrize("is_poison", [True, False], ids=["a bug", "the database is away"])
def test_what_the_statement_cannot_take_is_taken_row_by_row(
    is_poison: bool, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = toy()
    error = ValueError("what is that?") if is_poison else OperationalError("away")
    monkeypatch.setattr(claim_fast, "_claim_plain", Mock(side_effect=error))

    if is_poison:
        assert len(claim_fast.claim_due({"toy.alpha"}, "s", NOW)) == 1
    else:
        with pytest.raises(OperationalError):
            claim_fast.claim_due({"toy.alpha"}, "s", NOW)
        assert only(process, "one").state == "pending"


def test_while_claiming_pauses_a_settlement_claims_nothing_that_waits(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "_pause", scheduler._Pause())
    for number in range(2):
        submit("toy_line", subject=f"Toy {number}", input={})
    Flow.objects.filter(agent="toy.alpha").update(window=1)
    assert scheduler.advance() == 1
    wire.deliver_all(dispatch.RUN_BUNDLE)
    scheduler._pause.lengthen()

    wire.deliver_all(dispatch.SETTLE)

    states = Step.objects.filter(name="one").order_by("pk").values_list("state", flat=True)
    assert list(states) == ["processed", "pending"]


@pytest.mark.django_db(transaction=True)
class TestItsTransaction:
    """Where plans are kept, and nobody else's transaction is open."""

    @pytest.fixture(autouse=True)
    def by_one_statement(self) -> None:
        """Use it where the engine would."""

    def test_it_waits_for_the_database_once(self, toy: Toy) -> None:
        toy()
        claim_fast.claim_due(every_agent(), "s", NOW)
        toy()
        toy()
        asked: list[Callable[[], Any]] = []

        def along() -> None:
            asked.append(dialect.send("SELECT 7"))

        waits = waits_of(lambda: claim_fast.claim_due(every_agent(), "s", NOW, along=along))

        assert waits == 1
        assert [answer() for answer in asked] == [[(7,)]]
        assert Step.objects.filter(state="processing").count() == 3

    def test_it_is_not_used_in_a_caller_s_transaction_nor_without_kept_plans(
        self, toy: Toy
    ) -> None:
        toy()
        asked = Mock()

        with transaction.atomic():
            assert claim_fast._claim_plain({"toy.alpha"}, "s", NOW, asked) is None
        with override_settings(SAS_KEPT_PLANS=0):
            assert claim_fast._claim_plain({"toy.alpha"}, "s", NOW, asked) is None

        asked.assert_not_called()
        with transaction.atomic():
            assert len(claim_fast.claim_due({"toy.alpha"}, "s", NOW, along=asked)) == 1
        asked.assert_called_once()

    @pytest.mark.parametrize(
        ("then", "taken"),
        [
            ("UPDATE workers_step SET not_before = not_before + '1 h' WHERE id = %s", 1),
            ("UPDATE workers_step SET is_in_doubt = true WHERE id = %s", 2),
            ("UPDATE workers_step SET timeout_seconds = 7 WHERE id = %s", 2),
        ],
        ids=["put off", "in doubt", "another time"],
    )
    def test_what_changes_meanwhile_is_read_again(self, then: str, taken: int, toy: Toy) -> None:
        process = toy()
        toy()
        row = only(process, "one")

        with waiting_for(
            row.pk, lambda: claim_fast.claim_due(every_agent(), "s", NOW), then=then
        ) as results:
            pass

        assert len(results[0]) == taken
        seconds = {one.step_id: one.timeout_seconds for one in results[0]}
        assert seconds.get(row.pk, 30) == only(process, "one").timeout_seconds

    def test_who_holds_an_order_is_not_waited_for(
        self, two: tuple[Session, Session], toy: Toy
    ) -> None:
        held, free = toy(), toy()

        @transaction.atomic
        def hold() -> None:
            list(Process.objects.select_for_update().filter(pk=held.pk))

        _, looking = meet(two, hold, _looking, after=1)

        assert [one.process_id for one in looking.result] == [free.pk]

    def test_two_of_them_share_an_agent_s_room(
        self, two: tuple[Session, Session], toy: Toy
    ) -> None:
        for _ in range(5):
            toy()
        Flow.objects.filter(agent="toy.alpha").update(window=3)

        turns = meet(two, _looking, _looking, after=AFTER_ALL)

        assert [len(turn.result) for turn in turns] == [3, 0]
        assert Step.objects.filter(state="processing").count() == 3

    def test_of_a_paused_order_nothing_is_taken_however_soon(
        self, two: tuple[Session, Session], toy: Toy
    ) -> None:
        process = toy()

        @transaction.atomic
        def pause() -> None:
            Process.objects.filter(pk=process.pk).update(paused_at=NOW)

        _, looking = meet(two, pause, _looking, after=1)

        assert looking.result == []
        assert only(process, "one").state == "pending"

    def test_steps_are_written_in_the_order_of_their_keys(self, toy: Toy) -> None:
        """As whoever else writes several at once does; two orders would meet in a deadlock."""
        submit("toy_parallel", subject="Toy", input={}, now=NOW)
        wanted = list(
            Step.objects.filter(state="pending").order_by("pk").values_list("pk", flat=True)
        )
        for pk, agent in zip(wanted, ["toy.gamma", "toy.alpha"], strict=True):
            Step.objects.filter(pk=pk).update(agent=agent)

        assert [one.step_id for one in claim_fast.claim_due(every_agent(), "s", NOW)] == wanted[
            ::-1
        ]

        # A row is written anew behind those that were written before it.
        written = dialect.fetch(
            "SELECT id FROM workers_step WHERE state = 'processing' ORDER BY ctid", []
        )
        assert [pk for (pk,) in written] == wanted

    def test_where_the_connection_breaks_over_the_rest_what_was_taken_is_sent(
        self, toy: Toy, wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Step.objects.filter(process=toy(), name="one").update(is_in_doubt=True)
        narrow = submit("toy_narrow", subject="Narrow", input={}, now=NOW)

        def broken(*given: Any) -> claim_steps.Taken:
            connection.close()
            raise OperationalError("server closed the connection")

        monkeypatch.setattr(claim_steps, "claim_due", broken)

        assert scheduler.advance() == 1

        (bundle,) = wire.of(dispatch.RUN_BUNDLE)
        assert [one["subject"] for one in bundle.requests] == [narrow.subject]

    def test_what_the_transaction_is_told_ends_with_it(self, toy: Toy) -> None:
        toy()
        claim_fast.claim_due(every_agent(), "s", NOW)

        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('workers.locked', true)")
            assert cursor.fetchone()[0] in (None, "")


#: Its statements: the lock of the flow rows, and the one that does it.
AFTER_ALL = 2


def _looking() -> claim_steps.Taken:
    return claim_fast.claim_due(every_agent(), "s", NOW)
