"""Transactions whose COMMIT leaves along with their last writes: what they refuse, and whose."""

import signal
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from tests.integration.conftest import NOW, claim, only
from tests.integration.test_pipelined import elsewhere, held, held_elsewhere, hold
from workers.models import Journal, Process, Step
from workers.runtime import failpoints
from workers.states import StepState
from workers.store.db import dialect, prepared_plans, transactions
from workers.store.db.transactions import LostRow, durable
from workers.store.locked import load

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


class _Off(Exception):
    pass


def _everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (Process, Step, Journal)]


def _write(step: Step, meanwhile: str, *, is_last: bool = True) -> None:
    """Write a step, handed back if it was claimed, behind what somebody else does to its row."""
    with prepared_plans.kept(), durable("test.release"):
        (locked,) = load.lock_of([step.pk], NOW)
        row = locked.step(step.pk)
        assert row is not None
        with elsewhere() as cursor:
            cursor.execute(meanwhile, [step.pk])
        locked.touch(row)
        if row.state == StepState.PROCESSING:
            locked.move(row, StepState.PENDING, "handed_back", "test")
        load.write([locked], is_last=is_last)


@pytest.mark.parametrize("is_last", [True, False], ids=["last", "not last"])
def test_nothing_is_committed_where_a_row_is_not_as_it_was_read(is_last, toy):
    made = toy()
    claim()
    step = only(made, "one")
    before = _everything()

    with pytest.raises(LostRow, match=rf"not as it was read: row {step.pk}\b"):
        _write(step, "UPDATE workers_step SET reply = '{}' WHERE id = %s", is_last=is_last)

    Step.objects.filter(pk=step.pk).update(reply=None)
    assert _everything() == before


def test_what_is_as_it_was_read_is_committed_with_its_journal(toy):
    made = toy()
    claim()
    step = only(made, "one")

    _write(step, "SELECT 1 FROM workers_step WHERE id = %s")

    assert only(made, "one").state == "pending"
    assert Journal.objects.filter(step=step, event="handed_back").count() == 1


def test_of_a_row_that_is_gone_it_is_told_all_the_same(toy):
    made = toy()
    claim()
    last = only(made, "two")

    with pytest.raises(LostRow, match=str(last.pk)):
        _write(last, "DELETE FROM workers_step WHERE id = %s")


def test_what_fails_among_the_last_writes_is_raised_and_nothing_is_committed():
    def write() -> None:
        with prepared_plans.kept(), durable("test.fails"):
            with dialect.pipelined():
                hold("a")
            with transactions.writes(is_last=True):
                hold("b")
                hold("b")
                hold("c")

    with pytest.raises(IntegrityError):
        write()

    assert held() == []
    # The connection goes on as ever.
    with transaction.atomic():
        hold("d")
    assert held_elsewhere() == ["d"]


def test_what_is_raised_behind_the_last_writes_rolls_them_back():
    def write() -> None:
        with prepared_plans.kept(), durable("test.raises"):
            with transactions.writes(is_last=True):
                hold("a")
            raise _Off

    with pytest.raises(_Off):
        write()

    assert held() == []


def test_a_transaction_that_is_to_be_rolled_back_is():
    with prepared_plans.kept(), durable("test.marked"):
        with transactions.writes(is_last=True):
            hold("a")
        transaction.set_rollback(True)

    assert held() == []


def test_only_the_outermost_commits():
    with prepared_plans.kept(), durable("test.outer"):
        with durable("test.inner"):
            with dialect.pipelined():
                hold("a")
            with transactions.writes(is_last=True):
                hold("b")
        assert held_elsewhere() == []
    assert held_elsewhere() == ["a", "b"]

    with transaction.atomic():
        with prepared_plans.kept(), durable("test.within"), transactions.writes(is_last=True):
            hold("c")
        assert held_elsewhere() == ["a", "b"]
    assert held_elsewhere() == ["a", "b", "c"]


def test_who_commits_by_hand_goes_on_to_do_so():
    transaction.set_autocommit(False)
    try:
        with prepared_plans.kept(), durable("test.by_hand"):
            with dialect.pipelined():
                hold("a")
            with transactions.writes(is_last=True):
                hold("b")
        seen = held_elsewhere()
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)

    assert seen == []
    assert held() == []


def test_what_is_to_follow_the_commit_follows_it_and_is_waited_for():
    seen: list[Any] = []

    def look() -> None:
        seen.append(held_elsewhere())
        seen.append(dialect.execute("UPDATE workers_hold SET reason = 'seen'"))

    with prepared_plans.kept(), durable("test.follow"):
        with dialect.pipelined():
            hold("a")
        transaction.on_commit(look)
        with transactions.writes(is_last=True):
            hold("b")

    assert seen == [["a", "b"], 2]


def test_a_process_that_dies_before_it_has_committed_has_written_nothing(monkeypatch):
    seen: dict[str, list[str]] = {}

    class Witness:
        def enter(self, name: str) -> None: ...

        def leave(self, name: str) -> None: ...

        def reach(self, point: str) -> None:
            seen[point] = held_elsewhere()

    monkeypatch.setattr(failpoints, "witness", Witness())
    with prepared_plans.kept(), durable("test.dies"):
        with dialect.pipelined():
            hold("a")
        with transactions.writes(is_last=True):
            hold("b")

    assert seen == {"test.dies:before": [], "test.dies:written": [], "test.dies:after": ["a", "b"]}


def test_a_process_that_is_told_to_end_does_not_wait_for_its_commit(toy):
    made = toy()
    claim()
    step = only(made, "one")

    def end(*_: object) -> None:
        raise SystemExit

    before = signal.signal(signal.SIGALRM, end)
    try:
        with elsewhere() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("LOCK TABLE workers_journal IN ACCESS EXCLUSIVE MODE")
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(SystemExit):
                _write(step, "SELECT 1 FROM workers_step WHERE id = %s")
            # Asked while the lock is held still.
            assert only(made, "one").state == "processing"
    finally:
        signal.signal(signal.SIGALRM, before)

    _write(step, "SELECT 1 FROM workers_step WHERE id = %s")
    assert only(made, "one").state == "pending"
