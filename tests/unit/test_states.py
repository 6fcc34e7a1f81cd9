"""The tables of legal moves: every pair of states is either in them or refused."""

from itertools import product

import pytest

from tests.unit.build import a_process, a_step
from workers import states
from workers.exceptions import StateError
from workers.states import ProcessState, StepState

STEP_PAIRS = list(product(StepState.values, StepState.values))
PROCESS_PAIRS = list(product(ProcessState.values, ProcessState.values))


@pytest.mark.parametrize(("before", "after"), STEP_PAIRS, ids=lambda value: value)
def test_a_step_makes_legal_moves_only(before, after):
    step = a_step(state=before)
    locked = a_process(step)

    if states.may_move_step(before, after):
        locked.move(step, after, "moved", "test")

        assert step.state == after
        assert [(e.before, e.after) for e in locked.entries] == [(before, after)]
    else:
        with pytest.raises(StateError):
            locked.move(step, after, "moved", "test")
        assert step.state == before
        assert locked.entries == []


@pytest.mark.parametrize(("before", "after"), PROCESS_PAIRS, ids=lambda value: value)
def test_a_process_makes_legal_moves_only(before, after):
    locked = a_process(state=before, sequence=7)

    if states.may_move_process(before, after):
        locked.move_process(after, "moved", "test")

        assert locked.process.state == after
        assert [e.sequence for e in locked.entries] == [8]
    else:
        with pytest.raises(StateError):
            locked.move_process(after, "moved", "test")
        assert (locked.process.state, locked.process.sequence) == (before, 7)


def test_a_final_state_is_left_to_undo_or_redo_something_and_for_nothing_else():
    left = {pair for pair in states.PROCESS_MOVES if pair[0] in states.FINAL_PROCESS_STATES}
    undone = {("compensated", "compensating"), ("cancelled", "compensating")}
    # The latter for a child, with the step of its parent.
    assert left == undone | {("processed", "processing"), ("processed", "compensating")}


def test_a_step_that_is_undone_only_begins_again():
    after = {after for before, after in states.STEP_MOVES if before == StepState.COMPENSATED}
    assert after == {StepState.WAITING}


def test_every_state_can_be_reached():
    assert {after for _, after in states.STEP_MOVES} == set(StepState.values)
    assert {after for _, after in states.PROCESS_MOVES} == set(ProcessState.values) - {"pending"}
