"""A success that comes after its undo is kept, told, and undone once more."""

from typing import Any

import pytest

from tests.unit.build import NOW, a_process, a_step
from tests.unit.test_apply_reply import a_fault
from workers.rules import apply_reply, evidence
from workers.rules.external_answers import Outcome, answer
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess

UNDO = {"name": "refund", "agent": "pay.refund"}
RESULT: dict[str, Any] = {"result": {"charge": "ch_late"}}


def undone(
    undo_state: str = "processed", *, state: str = "compensated", process: str = "cancelled"
) -> tuple[LockedProcess, StepRow, StepRow]:
    step = a_step("collect", state, undo=UNDO, attempt=1)
    undo = a_step("refund", undo_state, undoes_id=step.id)
    locked = a_process(step, undo, state=process)
    locked.process.outcome = "cancelled"
    locked.process.finished_at = NOW if process == "cancelled" else None
    return locked, step, undo


def events(locked: LockedProcess) -> list[str]:
    return [entry.event for entry in locked.entries]


@pytest.mark.parametrize("undo_state", ["processed", "skipped"])
@pytest.mark.parametrize("process", ["cancelled", "compensating"])
def test_it_is_kept_told_and_undone_once_more(undo_state: str, process: str) -> None:
    locked, step, undo = undone(undo_state, process=process)

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED

    assert (undo.state, undo.not_before, undo.failure_count) == ("pending", NOW, 0)
    assert (locked.process.state, locked.process.finished_at) == ("compensating", None)
    assert evidence.of(step) != "undone"
    (kept,) = [entry for entry in locked.entries if entry.event == "late_success"]
    assert kept.detail == {"step": "collect", "answer": RESULT}
    assert [alert.code for alert in locked.alerts] == ["late_success"]


def test_once_undone_again_the_process_ends_as_before() -> None:
    locked, step, undo = undone()
    answer(locked, step, RESULT, "webhook:pay")
    undo.state = "processing"
    apply_reply.apply_result(locked, undo, {"refund": "re_1"}, "scheduler")
    apply_reply.finish(locked, "scheduler")

    assert (step.state, evidence.of(step), locked.process.state) == (
        "compensated",
        "undone",
        "cancelled",
    )
    assert locked.process.finished_at == NOW


def test_where_no_undo_was_made_a_person_is_told_and_nothing_is_left_to_undo() -> None:
    step = a_step("collect", "cancelled", undo=UNDO, attempt=1)
    locked = a_process(step, state="cancelled")
    locked.process.outcome, locked.process.finished_at = "cancelled", NOW

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED

    assert (step.state, step.may_have_effect) == ("cancelled", False)
    assert locked.process.state == "cancelled"
    assert events(locked) == ["late_success"]
    assert [alert.code for alert in locked.alerts] == ["late_success"]


def test_said_again_it_is_no_news() -> None:
    locked, step, undo = undone()
    answer(locked, step, RESULT, "webhook:pay")
    undo.state = "processed"
    said = len(locked.entries)

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.REPEATED
    assert (undo.state, len(locked.entries), len(locked.alerts)) == ("processed", said, 1)


def test_an_undo_at_work_is_asked_again_after_that() -> None:
    locked, step, undo = undone("processing", process="compensating")

    answer(locked, step, RESULT, "webhook:pay")
    assert undo.state == "processing"
    apply_reply.apply_result(locked, undo, {"refund": None}, "scheduler")

    assert (undo.state, step.early) == ("pending", RESULT)
    undo.state = "processing"
    apply_reply.apply_result(locked, undo, {"refund": "re_1"}, "scheduler")
    assert undo.state == "processed"


def test_an_undo_that_is_yet_to_begin_needs_nobody() -> None:
    locked, step, undo = undone("waiting", state="cancelled", process="compensating")

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED
    assert (undo.state, locked.alerts, events(locked)) == ("waiting", [], ["late_success"])
    assert not evidence.is_none(step)


def test_where_nothing_undoes_it_an_operator_is_told() -> None:
    locked, step, undo = undone(state="cancelled")
    locked.steps.remove(undo)

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED
    (alert,) = locked.alerts
    assert (alert.code, alert.params["says"]) == ("late_success", ["lasting"])
    assert locked.process.state == "cancelled"


@pytest.mark.parametrize(
    ("columns", "body", "actor", "outcome"),
    [
        ({"result": {"charge": "ch_late"}}, RESULT, "webhook:pay", Outcome.REPEATED),
        ({}, {"fault": a_fault("refused").to_json()}, "webhook:pay", Outcome.REPEATED),
        ({"effect": "none"}, RESULT, "webhook:pay", Outcome.REPEATED),
        ({}, RESULT, "operator:ann", Outcome.REPEATED),
        ({"state": "cancelled", "attempt": 0}, RESULT, "event", Outcome.IGNORED),
    ],
    ids=["known before", "a fault", "no effect", "a person", "never called"],
)
def test_what_is_no_news_changes_nothing(
    columns: dict[str, Any], body: dict[str, Any], actor: str, outcome: Outcome
) -> None:
    locked, step, undo = undone()
    for name, value in columns.items():
        setattr(step, name, value)
    before = repr(step), repr(undo)

    assert answer(locked, step, body, actor) == outcome
    assert (repr(step), repr(undo)) == before
    assert (locked.entries, locked.alerts, locked.step_origins) == ([], [], {})
