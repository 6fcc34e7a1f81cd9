"""What one statement resets of expired steps is reset as row by row, and the rest is left."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from django.db import connection, transaction
from django.test import override_settings

from tests.concurrency.matrix.pausing import LONGEST_SECONDS, Session, Turn
from tests.integration.both_ways import WORKFLOWS, Life, are_the_same, rows_now
from tests.integration.conftest import NOW, claim, only
from tests.integration.test_store_claims import start
from tests.integration.test_store_settling import Toy, a_result
from workers.models import Journal, LiveStep, Process, Step
from workers.store.claims import dead_workers
from workers.store.db import prepared_plans
from workers.store.db.transactions import durable
from workers.store.expire import expire_claims, expire_fast
from workers.store.settle import filed_replies

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]

AFTER = NOW + timedelta(seconds=32)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use it in a test's transaction, too, where no plan is kept."""
    monkeypatch.setattr(prepared_plans, "decides_in_database", lambda: True)


class Came(NamedTuple):
    reset: int
    left: int


def reset(now: datetime = AFTER) -> Came:
    """Return what the statement alone comes to."""
    with durable("expire_claims.expire"):
        found = expire_fast.reset("supervisor", expire_claims.EXPIRED, now)
    return Came(found.reset, len(found.left))


def at_work(toy: Toy, count: int = 1) -> list[Step]:
    """Have steps under way whose time is over at ``AFTER``."""
    processes = [toy() for _ in range(count)]
    assert len(start(claim())) == count
    return [only(process, "one") for process in processes]


def change(step: Step, **columns: Any) -> None:
    Step.objects.filter(pk=step.pk).update(**columns)


def _disturb(life: Life) -> None:
    """Have some steps under way be anything but plain."""
    for step in Step.objects.filter(state="processing", started_at__isnull=False):
        match life.random.randrange(12):
            case 0:
                change(step, failure_threshold=step.failure_count + 1)
            case 1:
                change(step, total_seconds=1)
            case 2:
                change(step, deferral={"since": life.now.isoformat()})
            case 3:
                change(step, reply={"v": 1})
            case 4:
                Process.objects.filter(pk=step.process_id).update(outcome="cancelled")
            case 5:
                change(step, may_have_effect=life.random.random() < 0.5)
            case 6:
                change(step, escalate_at=life.now)
            case 7:
                Process.objects.filter(pk=step.process_id).update(paused_at=life.now)
            case 8 | 9:
                dead_workers.note({step.pk: step.claim_id}, "signal 9 (SIGKILL)", life.now)
    # What is drawn at random is nothing to compare.
    Step.objects.update(backoff_base_seconds=0)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_has_expired_both_ways_do_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(seed)
    met: Counter[str] = Counter()

    def expire(batch: int, is_at_once: bool) -> tuple[expire_claims.Expired, list[dict[str, Any]]]:
        monkeypatch.setattr(prepared_plans, "decides_in_database", lambda: is_at_once)
        with override_settings(SAS_SWEEP_BATCH=batch), transaction.atomic():
            found = expire_claims.expire("supervisor", life.now), rows_now()
            transaction.set_rollback(True)
        return found

    for _ in range(20):
        for _ in range(life.random.randint(1, 4)):
            life.submit(WORKFLOWS)
        life.claim()
        life.now += timedelta(seconds=life.random.choice([0, 0.25, 3]))
        start([one for one in life.under_way if life.random.random() < 0.7], life.now)
        _disturb(life)
        life.now += timedelta(seconds=life.random.choice([1, 31, 33, 600]))
        by_rows, rows_then = expire(1000, False)
        one, rows_of_one = expire(1000, True)

        assert one == by_rows
        are_the_same(([], rows_of_one), ([], rows_then), is_ordered=False)

        monkeypatch.setattr(prepared_plans, "decides_in_database", lambda: True)
        with override_settings(SAS_SWEEP_BATCH=life.random.choice([1, 3, 1000])):
            found = reset(life.now)
        met["reset"] += found.reset
        met["left"] += found.left
        held = set(Step.objects.filter(state="processing").values_list("claim_id", flat=True))
        life.under_way = [one for one in life.under_way if one.claim_id in held]
    assert min(met["reset"], met["left"]) > 0, met


def test_a_step_with_attempts_left_is_pending_again(toy: Toy) -> None:
    (step,) = at_work(toy)

    assert reset() == Came(reset=1, left=0)

    after = Step.objects.get(pk=step.pk)
    assert (after.state, after.failure_count, after.is_in_doubt) == ("pending", 1, True)
    assert after.fault == {**expire_claims.EXPIRED, "at": after.fault["at"]}
    assert LiveStep.objects.values().get() == {
        "step_id": step.pk,
        "agent": step.agent,
        "state": "pending",
        "turn": step.turn,
        "not_before": after.not_before,
        "look_at": None,
        "is_deferred": False,
    }
    entry = Journal.objects.get(event="expired")
    assert (entry.before, entry.after, entry.attempt) == ("processing", "pending", 1)
    assert entry.detail["failure_count"] == 1
    assert reset() == Came(0, 0)


@pytest.mark.parametrize(("failures", "longest"), [(0, 2), (3, 16), (10, 60), (5000, 60)])
def test_it_backs_off_for_a_random_time_up_to_what_its_failures_come_to(
    failures: int, longest: int, toy: Toy
) -> None:
    at_work(toy, 60)
    Step.objects.update(
        failure_count=failures,
        failure_threshold=9999,
        backoff_base_seconds=2,
        backoff_cap_seconds=60,
    )

    assert reset() == Came(60, 0)

    waits = [
        (at - AFTER).total_seconds()
        for at in Step.objects.filter(name="one").values_list("not_before", flat=True)
    ]
    # By chance, 60 of them all lie in one half once in 2^59 times.
    assert 0 <= min(waits) < longest / 2 < max(waits) <= longest
    assert len(set(waits)) > 50


@pytest.mark.parametrize(
    "columns",
    [
        {"failure_threshold": 1},
        {"total_seconds": 9000},
        {"deferral": {"since": ""}},
        {"fault": {"code": "worker_died"}},
    ],
    ids=["last attempt", "time for all attempts", "waits for an answer", "its worker died"],
)
def test_of_what_anything_else_is_to_be_decided_is_left_as_it_was(
    columns: dict[str, Any], toy: Toy
) -> None:
    step, other = at_work(toy, 2)
    change(step, **columns)
    before = Step.objects.values().get(pk=step.pk)

    assert reset() == Came(reset=1, left=1)

    assert Step.objects.values().get(pk=step.pk) == before
    assert list(Journal.objects.filter(event="expired").values_list("step_id")) == [(other.pk,)]


def test_a_step_of_an_order_on_its_way_back_is_left(toy: Toy) -> None:
    (step,) = at_work(toy)
    Process.objects.update(outcome="cancelled")
    before = rows_now()

    assert reset() == Came(0, 1)

    assert rows_now() == before
    assert expire_claims.expire("supervisor", AFTER) == expire_claims.Expired(reset=1)
    assert Step.objects.get(pk=step.pk).state == "cancelled"


def test_what_is_left_is_decided_in_the_same_sweep(toy: Toy) -> None:
    step, _ = at_work(toy, 2)
    change(step, failure_threshold=1)

    assert expire_claims.expire("supervisor", AFTER) == expire_claims.Expired(reset=1, errors=1)

    assert list(Step.objects.filter(name="one").order_by("pk").values_list("state", flat=True)) == [
        "error",
        "pending",
    ]


@pytest.mark.parametrize("seconds", [29, 30, 31])
def test_nothing_is_reset_within_its_time_and_the_grace(seconds: int, toy: Toy) -> None:
    at_work(toy)
    before = rows_now()

    assert reset(NOW + timedelta(seconds=seconds)) == Came(0, 0)

    assert rows_now() == before


def test_a_claim_that_nobody_started_and_a_filed_reply_are_no_matter_of_it(toy: Toy) -> None:
    toy()
    toy()
    _, filed = claim()
    start([filed])
    filed_replies.file(a_result(filed), "agent@test", NOW)
    before = rows_now()

    assert reset(NOW + timedelta(days=9)) == Came(0, 0)

    assert rows_now() == before


def test_no_more_are_taken_than_a_sweep_takes_and_the_longest_expired_first(toy: Toy) -> None:
    first, second, third = at_work(toy, 3)
    change(second, complete_by=NOW + timedelta(seconds=5))

    with override_settings(SAS_SWEEP_BATCH=2):
        assert [reset() for _ in range(3)] == [Came(2, 0), Came(1, 0), Came(0, 0)]

    told = list(Journal.objects.filter(event="expired").values_list("step_id", flat=True))
    assert told[2] == third.pk
    assert set(told[:2]) == {first.pk, second.pk}


def test_narrow_rows_are_the_triggers_again_afterwards(toy: Toy) -> None:
    (step,) = at_work(toy)
    reset()

    change(step, agent="toy.gamma")

    assert LiveStep.objects.get().agent == "toy.gamma"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_last", [False, True], ids=["reset", "decided"])
@pytest.mark.parametrize("what", ["process", "step"])
def test_what_another_session_holds_is_not_waited_for(what: str, is_last: bool, toy: Toy) -> None:
    held, other = at_work(toy, 2)
    if is_last:
        change(other, failure_threshold=1)
    table, key = ("workers_process", held.process_id) if what == "process" else (
        "workers_step", held.pk,
    )  # fmt: skip

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR NO KEY UPDATE", [key])

    session, turn = Session(), Turn(hold, after=1)
    session.begin(turn)
    assert turn.gate.is_reached.wait(LONGEST_SECONDS)
    try:
        expired = expire_claims.expire("supervisor", AFTER)
    finally:
        turn.gate.open()
        session.close()
    assert expired == (
        expire_claims.Expired(errors=1) if is_last else expire_claims.Expired(reset=1)
    )
    assert Step.objects.get(pk=held.pk).state == "processing"
    assert Step.objects.get(pk=other.pk).state == ("error" if is_last else "pending")


@pytest.mark.django_db(transaction=True)
def test_a_sweep_of_its_own_resets_at_once(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way it is run in a worker, by a plan that is kept."""
    monkeypatch.undo()
    at_work(toy, 3)
    read: list[Callable[..., Any]] = []
    monkeypatch.setattr(expire_claims.load, "lock_only", read.append)

    assert expire_claims.expire("supervisor", AFTER) == expire_claims.Expired(reset=3)

    assert read == []
