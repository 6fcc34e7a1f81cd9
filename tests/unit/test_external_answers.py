"""Answers from outside, on rows in memory: valid whatever the claim, once."""

from typing import Any

import pytest

from tests.unit.build import NOW, a_process, a_step
from tests.unit.test_apply_reply import a_fault
from workers.rules import external_answers
from workers.rules.external_answers import Outcome, answer

RESULT = {"result": {"paid": True}}


@pytest.mark.parametrize("state", ["processed", "skipped", "compensated"])
def test_a_step_that_has_ended_has_had_its_answer(state: str) -> None:
    step = a_step("a", state)
    locked = a_process(step)

    assert answer(locked, step, RESULT, "callback") == Outcome.REPEATED
    assert (step.state, locked.entries) == (state, [])


def test_a_cancelled_step_wants_none() -> None:
    step = a_step("a", "cancelled")

    assert answer(a_process(step), step, RESULT, "callback") == Outcome.IGNORED


@pytest.mark.parametrize(
    "columns",
    [
        {"deferral": {"seconds": 60}},
        {},
        {"state": "pending", "may_have_effect": True},
        {"state": "error", "may_have_effect": True, "is_in_doubt": True},
    ],
    ids=["deferred", "at work", "to be tried again", "in error"],
)
def test_a_result_ends_the_step_whatever_its_claim_is(columns: dict[str, Any]) -> None:
    step = a_step("a", columns.pop("state", "processing"), **columns)

    assert answer(a_process(step), step, RESULT, "callback") == Outcome.ACCEPTED
    assert (step.state, step.result) == ("processed", {"paid": True})
    assert (step.may_have_effect, step.is_in_doubt) == (True, False)


def test_an_early_answer_is_kept_once() -> None:
    step = a_step("a", "pending")
    locked = a_process(step)

    assert answer(locked, step, RESULT, "callback") == Outcome.KEPT
    assert answer(locked, step, {"result": {}}, "callback") == Outcome.REPEATED
    assert (step.state, step.early) == ("pending", RESULT)
    assert [entry.event for entry in locked.entries] == ["answer_kept"]


def test_a_fault_of_an_attempt_that_is_over_is_not_kept() -> None:
    step = a_step("a", "pending", attempt=1)

    assert (
        answer(a_process(step), step, {"fault": a_fault("permanent").to_json()}, "x")
        == Outcome.IGNORED
    )
    assert step.early is None


@pytest.mark.parametrize("kind", ["unavailable", "transient"])
def test_a_fault_that_may_pass_says_nothing_of_a_step_that_is_tried_again(kind: str) -> None:
    step = a_step("a", "pending", may_have_effect=True)

    assert answer(a_process(step), step, {"fault": a_fault(kind).to_json()}, "x") == Outcome.IGNORED
    assert step.state == "pending"


def test_a_fault_of_a_step_in_error_is_known_already() -> None:
    step = a_step("a", "error")

    assert (
        answer(a_process(step), step, {"fault": a_fault("permanent").to_json()}, "x")
        == Outcome.IGNORED
    )


def test_the_answer_to_the_last_step_in_error_lets_the_process_go_on() -> None:
    step, other = a_step("a", "error"), a_step("b", "error")
    locked = a_process(step, other, state="error")

    answer(locked, step, RESULT, "callback")
    assert locked.process.state == "error"
    answer(locked, other, RESULT, "callback")
    assert locked.process.state == "processing"


def test_progress_is_noted_only_where_it_is_waited_for() -> None:
    step, busy = a_step("a", deferral={"seconds": 60}), a_step("b")
    locked = a_process(step, busy)

    assert external_answers.report_progress(locked, step, {"done": 3})
    assert step.deferral is not None
    assert step.deferral["progress"] == {"done": 3}
    assert not external_answers.report_progress(locked, busy, {"done": 3})


def test_an_overdue_answer_is_told_once() -> None:
    step = a_step("a", deferral={"seconds": 60, "question": "approval"}, escalate_at=NOW)
    locked = a_process(step)
    external_answers.escalate(locked, step, "scheduler")

    (alert,) = locked.alerts
    assert (alert.code, step.escalate_at) == ("answer_overdue", None)
    assert alert.params == {"subject": "Toy 1", "step": "a", "question": "approval"}
