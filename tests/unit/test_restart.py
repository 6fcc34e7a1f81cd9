"""Beginning again from an earlier step, on rows in memory."""

import pytest

from tests.unit.build import a_process, a_step
from tests.unit.test_compensation import done, undo_of
from workers.exceptions import StateError
from workers.rules import restart


def test_a_step_and_what_came_after_it_begin_again():
    locked = a_process(done("a"), done("b", "a"), done("c", "b"), done("d", "a"))

    renewal = restart.begin(locked, "b", "ann", "wrong size")

    assert renewal.steps == ("b", "c")
    assert [planned.name for planned in renewal.undo.undo] == ["undo_c", "undo_b"]


def test_a_process_turns_back_only_as_far_as_that():
    queued = a_step("c", "pending", after=("b",))
    locked = a_process(done("a"), done("b", "a"), queued)

    restart.begin(locked, "b", "ann", "wrong size")

    assert (locked.process.state, locked.process.outcome) == ("compensating", "processing")
    assert (locked.process.renews, queued.state) == (["b", "c"], "cancelled")
    assert [planned.name for planned in locked.planned] == ["undo_b"]
    assert locked.entries[-1].detail["begins_again"] == ["b", "c"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x", "has no step 'x'. Its steps: a, b, c."),
        ("c", "Step c has not been done: it cannot begin again."),
        ("b", "nothing undoes b, and it would happen twice."),
    ],
)
def test_what_cannot_begin_again_is_refused(name, says):
    locked = a_process(done("a"), done("b", "a", undo=False), a_step("c", "waiting", after=("b",)))

    with pytest.raises(StateError, match=says):
        restart.begin(locked, name, "ann", "why")
    assert locked.entries == []


def test_once_they_are_undone_the_steps_wait_with_a_new_key():
    first = done("a", idempotency_key="stem:0:1")
    second = a_step("b", "compensated", after=("a",), idempotency_key="stem:1:1", failure_count=2)
    undo = undo_of(second, state="processed")
    locked = a_process(first, second, undo, state="compensating")
    locked.process.outcome, locked.process.renews = "processing", ["b"]

    restart.finish(locked, "scheduler")

    assert (locked.process.state, locked.process.outcome) == ("processing", None)
    assert (second.state, second.idempotency_key, second.failure_count) == (
        "waiting",
        "stem:1:2",
        0,
    )
    assert (first.state, first.idempotency_key) == ("processed", "stem:0:1")


@pytest.mark.parametrize("state", ["pending", "processing", "error"])
def test_until_then_nothing_begins_again(state):
    step = done("a")
    undo = undo_of(step, state=state)
    locked = a_process(step, undo, state="compensating")
    locked.process.outcome, locked.process.renews = "processing", ["a"]

    restart.finish(locked, "scheduler")

    assert (locked.process.state, step.state) == ("compensating", "processed")
