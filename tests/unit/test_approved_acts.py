"""What each verb that one asks another to approve does, and what it says that it moves."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.build import a_process, a_step
from workers.exceptions import StateError
from workers.rules import compensation
from workers.rules.approved_acts import VERBS, Act, of_plan
from workers.rules.rows import StepRow

ANN = "operator:ann"


def paid() -> StepRow:
    undo = {"name": "refund", "agent": "toy.undoer"}
    return a_step("pay", "processed", may_have_effect=True, undo=undo)


@pytest.mark.parametrize(
    ("verb", "outcome"), [("cancel", "cancelled"), ("compensate", "compensated")]
)
def test_an_undo_moves_its_undo_steps(verb: str, outcome: str) -> None:
    locked = a_process(paid(), state="error")

    moves = VERBS[verb](locked, Act(verb), ANN, "because")

    assert moves == ["refund"]
    assert (locked.process.state, locked.process.outcome) == ("compensating", outcome)


def test_where_nothing_is_undone_nothing_moves() -> None:
    assert of_plan(compensation.plan(a_process(a_step("pay", "pending")))) == []


@pytest.mark.parametrize(
    ("verb", "given", "state"),
    [
        ("complete", {"result": {"id": 7}}, "processed"),
        ("skip", {}, "skipped"),
        ("answer", {"body": {"result": {}}}, "processed"),
    ],
)
def test_ending_a_step_moves_it(verb: str, given: Mapping[str, Any], state: str) -> None:
    locked = a_process(a_step("pay", "error"), state="error")

    assert VERBS[verb](locked, Act(verb, "pay", given), ANN, "because") == ["pay"]

    assert locked.named("pay").state == state


def test_an_answer_that_changes_nothing_is_refused() -> None:
    locked = a_process(a_step("pay", "processed"))
    act = Act("answer", "pay", {"body": {"result": {}}})

    with pytest.raises(StateError) as refusal:
        VERBS["answer"](locked, act, ANN, "because")

    assert refusal.value.code == "answer_unwanted"


@pytest.mark.parametrize(("is_in_doubt", "moves"), [(True, ["mail"]), (False, [])])
def test_resubmit_lists_step_as_moved_only_if_outcome_is_unknown(
    is_in_doubt: bool, moves: list[str]
) -> None:
    step = a_step(
        "mail", "error", effect="unsafe", may_have_effect=is_in_doubt, is_in_doubt=is_in_doubt
    )
    locked = a_process(step, state="error")

    assert VERBS["resubmit"](locked, Act("resubmit"), ANN, "because") == moves

    assert locked.named("mail").state == "pending"
