"""Births beside cancels, counts beside ends, and two Schedulers at one group."""

import threading
from functools import partial

import pytest

from tests.concurrency.racing import race
from tests.fleets import BY, born, fleet, state_of, step_of
from workers import cancel, scheduler
from workers.models import Child, ChildGroup
from workers.store.child_groups import carry_on
from workers.store.submit import create_processes
from workers.supervisor import beat_schedule
from workers.testing import assert_invariants

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def flow_rows(transactional_db) -> None:
    beat_schedule.ensure()


def begun(wire, count=20, workflow="toy_tolerant"):
    """A process whose group is expanded, and of which no child is born yet."""
    process = fleet(count, workflow)
    real, carry_on._bear = carry_on._bear, lambda *args: None
    try:
        scheduler.advance()
    finally:
        carry_on._bear = real
    wire.drop_all()
    assert (ChildGroup.objects.get().expanded_to, born().count()) == (count, 0)
    ChildGroup.objects.update(is_flagged=True)
    return process


def meeting(monkeypatch, seconds=1.0):
    """Hold births up for a while once the group is locked; return what says that one is there."""
    there = threading.Event()
    real = create_processes.submit

    def submit(*args, **kwargs):
        there.set()
        threading.Event().wait(seconds)
        return real(*args, **kwargs)

    monkeypatch.setattr(create_processes, "submit", submit)
    return there


@pytest.mark.postgresql
def test_no_birth_escapes_a_cancel(wire, clock, monkeypatch):
    process = begun(wire)
    there = meeting(monkeypatch)

    def cancel_meanwhile():
        assert there.wait(10)
        cancel(process.pk, **BY)

    results = race([scheduler.advance, cancel_meanwhile])
    assert not [result for result in results if isinstance(result, Exception)], results
    monkeypatch.undo()
    # The cancel waited for the births, and stopped them: these three are all.
    assert born().count() == 3
    wire.run_until_settled(clock)
    assert born().count() == 3
    assert set(born().values_list("state", flat=True)) == {"cancelled"}
    assert state_of(process) == "cancelled"
    assert_invariants()


@pytest.mark.postgresql
def test_group_that_was_stopped_first_bears_nothing(wire):
    process = begun(wire)
    cancel(process.pk, **BY)
    race([scheduler.advance] * 2)

    assert born().count() == 0


@pytest.mark.postgresql
def test_eight_schedulers_bear_and_count_each_child_once(wire, clock):
    process = begun(wire, 60)
    ChildGroup.objects.update(at_once=25)
    results = race([scheduler.advance] * 8)
    assert not [result for result in results if isinstance(result, Exception)], results
    assert born().count() == 25
    wire.run_until_settled(clock)
    assert (born().count(), step_of(process).result["processed"]) == (60, 60)
    assert_invariants()


@pytest.mark.postgresql
def test_children_that_end_side_by_side_are_each_counted_once(wire, clock):
    """Eight of one group end in eight sessions, while another counts."""
    begun(wire, 9)
    ChildGroup.objects.update(at_once=9)
    scheduler.advance()
    ids = list(born().values_list("pk", flat=True))
    verbs = [partial(cancel, pk, **BY) for pk in ids] + [scheduler.advance] * 3
    results = race(verbs)
    assert not [result for result in results if isinstance(result, Exception)], results
    wire.run_until_settled(clock)

    group = ChildGroup.objects.get()
    assert (group.processed, group.failed) == (0, 9)
    assert set(Child.objects.values_list("state", flat=True)) == {"counted"}
    assert_invariants()
