"""How many children are born, how a group ends, and what its items must be."""

import pytest

from tests.unit.build import a_process, a_step
from workers.rules import child_groups
from workers.rules.child_groups import GroupRow


def group(**values):
    usual = {
        "id": 7,
        "step_id": 1,
        "key": "k",
        "workflow": "w",
        "at_once": 3,
        "tolerate": 0.0,
        "total": 10,
        "expanded_to": 10,
        "born_to": 0,
        "processed": 0,
        "failed": 0,
        "stopped": False,
        "is_undoing": False,
        "is_paused": False,
    }
    return GroupRow(**{**usual, **values})


@pytest.mark.parametrize(
    ("values", "under_way", "is_paused", "births"),
    [
        ({}, 0, False, 3),
        ({}, 2, False, 1),
        ({}, 3, False, 0),
        # An operator's hand may have lowered it.
        ({}, 5, False, 0),
        ({}, 0, True, 0),
        ({"stopped": True}, 0, False, 0),
        ({"failed": 1}, 0, False, 0),
        ({"failed": 1, "tolerate": 0.1}, 0, False, 3),
    ],
)
def test_births(values, under_way, is_paused, births):
    assert group(**values).births(under_way, is_paused=is_paused) == births


@pytest.mark.parametrize(
    ("values", "under_way", "is_over"),
    [
        ({"processed": 10}, 0, True),
        ({"processed": 9}, 1, False),
        ({"processed": 9, "failed": 1, "tolerate": 0.1}, 0, True),
        ({"processed": 3, "failed": 1}, 2, False),
        ({"processed": 3, "failed": 1}, 0, True),
        ({"processed": 10, "stopped": True}, 0, False),
        ({"total": 0, "expanded_to": 0}, 0, True),
        ({"total": None, "expanded_to": 0}, 0, False),
        ({"expanded_to": 5, "processed": 5}, 0, False),
    ],
)
def test_end_of_a_group(values, under_way, is_over):
    assert group(**values).is_over(under_way) is is_over


def test_share_that_may_fail_is_exact_where_floats_are_not():
    assert not group(total=100, tolerate=0.29, failed=29).has_failed
    assert group(total=100, tolerate=0.29, failed=30).has_failed


def test_result_has_the_counts_and_a_fault_says_how_many_may_fail():
    assert group(processed=10).result() == {"group": 7, "total": 10, "processed": 10, "failed": 0}
    assert group(processed=10).fault() is None
    fault = group(failed=3, tolerate=0.2).fault()
    assert (fault.kind, fault.code) == ("permanent", "children_failed")
    assert fault.message == "3 of 10 children were not processed, and 2 may fail"


def test_sixth_level_is_too_deep_and_proves_that_nothing_happened():
    assert child_groups.too_deep(5) is None
    fault = child_groups.too_deep(6)
    assert fault.message == "children must be at most 5 levels deep, got 6"
    assert fault.no_effect is True


@pytest.mark.parametrize(
    ("items", "before", "message"),
    [
        ("abc", None, "over must return a list of dicts, got str"),
        ([{}] * 10_001, None, "over must return at most 10000 items, got 10001"),
        ([{}], 2, "over must return the same list again: 2 items, got 1"),
        ([{}, 3], None, "item 1 of over: input must be a dict, got int"),
        ([{"a": "x" * 8_184}], None, "item 0 of over must have 8192 bytes at most, got 8193"),
    ],
)
def test_unusable_items(items, before, message):
    with pytest.raises((TypeError, ValueError)) as refused:
        child_groups.check_items(items, before)
    assert str(refused.value).startswith(message)


def test_usable_items():
    items = [{"a": "x" * 8_183}]
    assert child_groups.check_items(items, 1) is items


def undone(state, *steps, no_return=()):
    locked = a_process(*steps, state=state)
    locked.process.no_return = no_return
    return child_groups.undo(locked, "scheduler@test"), locked.process


def test_processed_child_is_compensated_and_an_open_one_cancelled():
    done = a_step("make", "processed", may_have_effect=True)
    assert undone("processed", done)[1].outcome == "compensated"
    assert undone("processing", a_step("make"))[1].outcome == "cancelled"
    assert undone("error", a_step("make", "error"))[1].outcome == "cancelled"


@pytest.mark.parametrize("state", ["compensated", "cancelled"])
def test_child_that_was_undone_is_left_alone(state):
    is_settled, process = undone(state, a_step("make", "compensated"))
    assert (is_settled, process.state) == (True, state)


def test_child_past_its_point_of_no_return_stays_and_an_open_one_runs_to_its_end():
    done = a_step("make", "processed", may_have_effect=True)
    assert undone("processed", done, no_return=["make"])[0] is False
    is_settled, process = undone("processing", done, a_step("more"), no_return=["make"])
    assert (is_settled, process.state, process.outcome) == (True, "processing", None)
