"""Answers that do not come, on rows in memory."""

import pytest

from tests.unit.build import NOW, a_process, a_step
from workers.protocol.faults import FaultRecord
from workers.rules import overdue_answers


@pytest.mark.parametrize(
    ("deferral", "permission"),
    [
        ({"seconds": 60}, ""),
        ({"seconds": 60, "question": "approval"}, "workers.answer_step"),
        ({"seconds": 60, "permission": "shop.decide"}, "shop.decide"),
        ({"seconds": 60, "question": "approval", "permission": "shop.decide"}, "shop.decide"),
    ],
)
def test_who_may_answer_is_known_of_a_step_without_an_answer(deferral, permission):
    step = a_step("a", deferral=deferral)

    assert overdue_answers.permission_to_answer(step) == permission
    fault = overdue_answers.unanswered(step)
    assert (fault.kind, fault.code, fault.permission or "") == ("expired", "unanswered", permission)
    # The deferral is over, and the fault still says who may decide.
    step.deferral, step.fault = None, fault
    assert overdue_answers.permission_to_answer(step) == permission


def test_a_step_that_failed_otherwise_asks_no_person():
    step = a_step("a", fault=FaultRecord("permanent", "no", "it is refused"))

    assert overdue_answers.permission_to_answer(step) == ""


def test_an_overdue_answer_is_told_once():
    step = a_step("a", deferral={"seconds": 60, "question": "approval"}, escalate_at=NOW)
    locked = a_process(step)
    overdue_answers.escalate(locked, step, "scheduler")

    (alert,) = locked.alerts
    assert (alert.code, step.escalate_at) == ("answer_overdue", None)
    assert alert.params == {"subject": "Toy 1", "step": "a", "question": "approval"}
