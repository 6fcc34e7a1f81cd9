"""Child groups: born, counted, bounded and tolerated; read by ``children``."""

from collections import Counter

import pytest
from django.db import OperationalError

from tests.fleets import BY, born, fails, fleet, state_of, step_of
from tests.toyflow import agents as toy
from workers import Permanent, children, resubmit, submit
from workers.models import Child, ChildGroup, Process, Step
from workers.rules.child_groups import GroupRow
from workers.states import FORWARD_PROCESS_STATES
from workers.store.child_groups import carry_on, expand, groups
from workers.store.db.transactions import durable
from workers.store.locked import load
from workers.testing import assert_invariants


def test_every_item_is_a_process_and_the_step_counts_them(wire, clock):
    process = fleet()
    wire.run_until_settled(clock)

    assert state_of(process) == "processed"
    group = ChildGroup.objects.get()
    counts = {"total": 7, "processed": 7, "failed": 0}
    assert step_of(process).result == {"group": group.pk, **counts}
    found = list(children(group.pk))
    assert [child.index for child in found] == list(range(7))
    assert [child.item for child in found] == process.input["items"]
    assert {child.state for child in found} == {"processed"}
    assert found[3].results["make"] == {"by": "toy.alpha"}
    third = Process.objects.get(pk=found[3].process)
    assert (third.subject, third.workflow, third.group_id) == ("Fleet/3", "toy_child", group.pk)
    assert_invariants()


def test_empty_list_settles_at_once(wire):
    process = fleet(0)
    wire.run_until_idle()

    assert state_of(process) == "processed"
    assert step_of(process).result["total"] == 0


def test_no_more_than_at_once_are_under_way(wire, clock):
    most = []

    def run(call):
        most.append(born().filter(state__in=FORWARD_PROCESS_STATES).count())
        return {}

    toy.script["toy.beta"] = run
    fleet(10)
    wire.run_until_settled(clock)

    assert len(most) == 10
    assert max(most) == 3


def test_portions_of_rows_and_children_are_all_born(wire, clock, monkeypatch):
    for module in (carry_on, expand, groups):
        monkeypatch.setattr(module, "PORTION", 4)
    process = fleet(11)
    wire.run_until_settled(clock)

    assert step_of(process).result["processed"] == 11
    assert_invariants()


def test_five_hundred_children(wire, clock):
    process = fleet(500)
    wire.run_until_settled(clock)

    assert step_of(process).result["processed"] == 500
    assert born().count() == 500
    assert_invariants()


@pytest.mark.parametrize(
    ("over", "message"),
    [
        (lambda given: 1 / 0, "ZeroDivisionError"),
        (lambda given: {"a": 1}, "over must return a list of dicts, got dict"),
        (lambda given: [{}, 7], "item 1 of over: input must be a dict, got int"),
        (lambda given: [{"a": object()}], "item 0 of over: input must be JSON"),
        (lambda given: [{}] * 10_001, "over must return at most 10000 items, got 10001"),
        (lambda given: [{"a": "x" * 8_192}], "item 0 of over must have 8192 bytes at most"),
    ],
)
def test_unusable_items_end_the_step_in_error_with_the_reason(wire, clock, over, message):
    toy.script["over"] = over
    process = fleet()
    wire.run_until_settled(clock)

    step = step_of(process)
    assert (step.state, step.fault["code"]) == ("error", "children_unusable")
    assert message in step.fault["message"]
    assert (state_of(process), step.may_have_effect) == ("error", False)

    # Once the code is right, an operator has it tried again.
    toy.script["over"] = lambda given: [{"number": 1}]
    resubmit(process.pk, **BY)
    wire.run_until_settled(clock)
    assert state_of(process) == "processed"


def test_list_that_changes_after_a_crash_ends_the_step_and_the_born_stay_undoable(
    wire, clock, monkeypatch
):
    real = expand._insert

    def away(group_id, begin, portion):
        if begin:
            raise OperationalError("the database went away")
        real(group_id, begin, portion)

    monkeypatch.setattr(expand, "PORTION", 3)
    monkeypatch.setattr(expand, "_insert", away)
    process = fleet(5)
    with pytest.raises(OperationalError):
        wire.run_until_idle()
    monkeypatch.setattr(expand, "_insert", real)
    assert ChildGroup.objects.get().expanded_to == 3

    toy.script["over"] = lambda given: given["items"][:2]
    wire.run_until_settled(clock)
    step = step_of(process)
    assert "over must return the same list again: 5 items, got 2" in step.fault["message"]
    assert step.may_have_effect
    toy.script.pop("over")
    resubmit(process.pk, **BY)
    wire.run_until_settled(clock)
    assert step_of(process).result["processed"] == 5


def test_refused_child_fails_the_step_once_the_open_ones_have_ended(wire, clock):
    fails(1)
    process = fleet()
    wire.run_until_settled(clock)

    step = step_of(process)
    assert (step.state, step.fault["code"]) == ("error", "children_failed")
    assert "1 of 7 children were not processed, and 0 may fail" in step.fault["message"]
    # No more were born than had been when it failed.
    assert 3 <= born().count() < 7
    assert not born().filter(state__in=FORWARD_PROCESS_STATES).exists()
    assert_invariants()


@pytest.mark.parametrize(("failing", "state"), [((1, 4), "processed"), ((1, 4, 6), "error")])
def test_tolerance_is_reached_at_exactly_its_share(wire, clock, failing, state):
    fails(*failing)
    process = fleet(10, "toy_tolerant")
    wire.run_until_settled(clock)

    assert step_of(process).state == state
    group = ChildGroup.objects.get()
    assert group.failed == len(failing)
    if state == "processed":
        assert step_of(process).result["failed"] == 2
        assert [child.index for child in children(group.pk, "compensated")] == [1, 4]
        assert next(children(group.pk, "compensated")).fault["code"] == "no"


def test_tolerated_share_is_exact_where_floats_are_not():
    row = GroupRow(1, 1, "", "", 1, 0.29, 100, 100, 0, 71, 29, False, False, False)
    assert not row.has_failed
    row.failed = 30
    assert row.has_failed


def test_child_in_error_waits_for_an_operator_and_the_group_goes_on(wire, clock):
    fails(2, fault=Permanent("broken", "it is broken"))
    process = fleet()
    wire.run_until_settled(clock)

    assert step_of(process).state == "processing"
    group = ChildGroup.objects.get()
    assert (group.processed, group.failed) == (6, 0)
    [stuck] = children(group.pk, "error")
    assert (stuck.index, stuck.fault["code"]) == (2, "broken")

    fails()
    resubmit(stuck.process, **BY)
    wire.run_until_settled(clock)
    assert step_of(process).result["processed"] == 7


def test_resubmitted_step_keeps_what_is_processed_and_bears_the_failed_again(wire, clock):
    fails(1)
    process = fleet()
    wire.run_until_settled(clock)
    group = ChildGroup.objects.get()
    before = {child.index: child.process for child in children(group.pk, "processed")}
    fails()
    resubmit(process.pk, **BY)
    wire.run_until_settled(clock)

    assert step_of(process).result["processed"] == 7
    found = {child.index: child for child in children(group.pk)}
    assert {index: found[index].process for index in before} == before
    again = Process.objects.get(pk=found[1].process)
    assert (again.key_use, again.subject) == (2, "Fleet/1")
    assert_invariants()


def test_child_that_ends_twice_is_counted_once(wire, clock):
    process = fleet(3)
    wire.run_until_settled(clock)
    first = born().first()
    with durable("a test"):
        [locked] = load.lock([first.pk], None)
        locked.touch_process()
        load.write([locked])
    wire.run_until_settled(clock)

    assert ChildGroup.objects.get().processed == 3
    assert Child.objects.get(process=first).state == "counted"
    assert state_of(process) == "processed"


def test_two_levels(wire, clock):
    items = [{"items": [{"number": n} for n in range(3)]} for _ in range(4)]
    process = submit("toy_levels", subject="Deep", input={"items": items})
    wire.run_until_settled(clock)

    assert state_of(process) == "processed"
    assert Counter(ChildGroup.objects.values_list("depth", flat=True)) == {1: 1, 2: 4}
    assert Process.objects.filter(workflow="toy_child", state="processed").count() == 12
    assert Process.objects.filter(subject="Deep/3/2").exists()
    assert_invariants()


def test_sixth_level_is_refused(wire, clock):
    submit("toy_endless", subject="Endless", input={})
    wire.run_until_settled(clock)

    assert ChildGroup.objects.count() == 5
    deepest = Step.objects.get(state="error")
    assert deepest.fault["message"] == "children must be at most 5 levels deep, got 6"
    assert not deepest.may_have_effect


def test_children_take_lane_head_start_and_newest_version(wire):
    process = fleet(2, lane="customer 7", priority=3)
    wire.run_until_idle()

    child = born().get(subject="Fleet/0")
    assert child.lane == process.lane
    assert child.turn < child.created_at
    assert child.submission_key == f"{step_of(process).idempotency_key}/0"


def test_unknown_state_is_refused():
    with pytest.raises(ValueError, match=r"state must be cancelled, .*, got 'done'"):
        children(1, "done")
