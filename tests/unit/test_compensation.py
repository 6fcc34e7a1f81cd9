"""Undoing a process, on rows in memory: which undo steps, in which order, from when on."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.build import a_process, a_step
from workers.desk.admin import wording
from workers.exceptions import StateError
from workers.models import Journal
from workers.rules import compensation
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess


def done(name: str, *after: str, undo: bool = True, **columns: Any) -> StepRow:
    """Return a processed step that had an effect."""
    undone_by = {"name": f"undo_{name}", "agent": f"toy.un{name}"} if undo else None
    effect = {"may_have_effect": True, "after": after, "undo": undone_by}
    return a_step(name, "processed", **(effect | columns))


def undo_of(step: StepRow, *after: str, state: str = "waiting") -> StepRow:
    return a_step(f"undo_{step.name}", state, undoes_id=step.id, after=after)


def on_its_way_back(*steps: StepRow, outcome: str = "compensated") -> LockedProcess:
    locked = a_process(*steps, state="compensating")
    locked.process.outcome = outcome
    return locked


def test_what_was_done_is_undone_against_the_graph():
    plan = compensation.plan(a_process(done("a"), done("b", "a"), done("c", "b"), done("d", "a")))

    assert [planned.name for planned in plan.undo] == ["undo_c", "undo_b", "undo_d", "undo_a"]
    after = {planned.name: set(planned.spec.after) for planned in plan.undo}
    assert after == {
        "undo_c": set(),
        "undo_b": {"undo_c"},
        "undo_d": set(),
        "undo_a": {"undo_b", "undo_c", "undo_d"},
    }


def test_only_what_may_have_had_an_effect_is_undone():
    at_work = a_step("busy", undo={"name": "undo_busy", "agent": "toy.x"}, may_have_effect=False)
    plan = compensation.plan(
        a_process(
            done("a"), done("harmless", may_have_effect=False), a_step("next", "waiting"), at_work
        )
    )

    assert {planned.name for planned in plan.undo} == {"undo_a", "undo_busy"}


def test_an_effect_that_nothing_undoes_is_named():
    by_nobody = done("b", undo=True)
    by_nobody.spec = replace(by_nobody.spec, undo={"name": "undo_b", "agent": None})

    plan = compensation.plan(a_process(done("a", undo=False), by_nobody))

    assert (plan.undo, plan.lasting) == ((), ("a", "b"))


def test_a_plan_changes_nothing():
    locked = a_process(done("a"), a_step("b", "pending"))
    compensation.plan(locked)

    assert (locked.process.state, locked.entries, locked.planned) == ("processing", [], [])


def test_compensation_begins_by_cancelling_every_step_not_running():
    waiting, queued, busy = a_step("w", "waiting"), a_step("q", "pending"), a_step("b")
    deferred = a_step("d", deferral={"seconds": 60})
    locked = a_process(waiting, queued, busy, deferred)

    compensation.begin(locked, "cancelled", "ann", "changed her mind")

    states = [step.state for step in (waiting, queued, deferred, busy)]
    assert states == [*["cancelled"] * 3, "processing"]
    assert (locked.process.state, locked.process.outcome) == ("compensating", "cancelled")
    assert locked.entries[-1].detail["reason"] == "changed her mind"


@pytest.mark.parametrize("state", ["processed", "compensated", "cancelled"])
def test_a_final_process_is_not_undone(state):
    locked = a_process(done("a"), state=state)

    with pytest.raises(StateError, match="there is nothing to undo"):
        compensation.begin(locked, "cancelled", "ann", "why")
    assert locked.entries == []


def test_nothing_is_undone_twice_or_past_the_point_of_no_return():
    with pytest.raises(StateError, match="is being undone already"):
        compensation.plan(on_its_way_back(done("a")))
    passed = a_process(done("a"), done("b"))
    passed.process.no_return = ["a", "b"]
    with pytest.raises(StateError, match="past its point of no return"):
        compensation.plan(passed)
    passed.named("b").state = "processing"
    assert not compensation.is_past_no_return(passed)


def test_an_undo_waits_for_its_step_and_all_that_came_after_it():
    first, second = done("a"), a_step("b", after=("a",))
    undo = undo_of(first)
    locked = on_its_way_back(first, second, undo)

    assert compensation.ready_undo_steps(locked, "scheduler") == []
    second.state = "error"
    assert compensation.ready_undo_steps(locked, "scheduler") == [undo]


def test_an_undo_waits_for_the_undo_of_what_came_later():
    first, second = done("a"), done("b", "a")
    of_second = undo_of(second)
    of_first = undo_of(first, "undo_b")
    locked = on_its_way_back(first, second, of_first, of_second)

    assert compensation.ready_undo_steps(locked, "scheduler") == [of_second]
    of_second.state = "processed"
    assert compensation.ready_undo_steps(locked, "scheduler") == [of_first]


def test_an_undo_of_nothing_is_skipped_and_lets_the_next_begin():
    first, second = done("a"), done("b", "a", may_have_effect=False)
    of_second, of_first = undo_of(second), undo_of(first, "undo_b")
    locked = on_its_way_back(first, second, of_first, of_second)

    assert compensation.ready_undo_steps(locked, "scheduler") == [of_first]
    assert of_second.state == "skipped"


def test_an_undo_that_is_done_takes_the_effect_from_its_step():
    first = done("a", is_in_doubt=True)
    undo = undo_of(first, state="processed")
    compensation.undone(on_its_way_back(first, undo), undo, "scheduler")

    assert (first.state, first.may_have_effect, first.is_in_doubt) == ("compensated", False, False)


@pytest.mark.parametrize(
    ("undo_states", "ends"),
    [
        (["processed", "processed"], "cancelled"),
        (["processed", "pending"], "compensating"),
        (["processed", "processing"], "compensating"),
        (["waiting", "processed"], "compensating"),
        (["waiting", "error"], "error"),
        (["error", "pending"], "compensating"),
    ],
)
def test_a_process_ends_once_its_way_back_is_over(undo_states, ends):
    first, second = done("a"), done("b", "a")
    undo = [
        undo_of(step, state=state) for step, state in zip((first, second), undo_states, strict=True)
    ]
    locked = on_its_way_back(first, second, *undo, outcome="cancelled")

    compensation.finish(locked, "scheduler")

    assert locked.process.state == ends


@pytest.mark.parametrize(
    ("result", "is_nothing"),
    [
        ({"refund": None}, True),
        ({"released": 0}, True),
        ({"undone": False}, True),
        ({"refund": "re_1"}, False),
        ({"carrier": "courier", "cancelled": "ca_1"}, False),
        # By hand, or of an agent without a result: nothing is said.
        ({}, False),
        (None, False),
    ],
)
def test_undo_that_found_nothing_is_journalled_as_such(result, is_nothing):
    """The money of a charge in doubt did not come back where nothing was found to refund."""
    step = done("charge")
    undo = undo_of(step, state="processed")
    undo.result = result
    locked = on_its_way_back(step, undo)

    compensation.undone(locked, undo, "scheduler")

    (entry,) = locked.entries
    assert (entry.event, entry.detail["by"]) == ("compensated", "undo_charge")
    assert entry.detail.get("found_nothing", False) == is_nothing
    row = Journal(event=entry.event, actor=entry.actor, detail=entry.detail, step_id=1)
    words = "Its undo found nothing to undo" if is_nothing else "Its effect was undone"
    assert wording.of_row(row) == words
