"""A success that comes after its undo is kept, told, and undone once more."""

from typing import Any
from uuid import uuid4

import pytest

from tests.unit.build import NOW, a_process, a_step, give
from tests.unit.test_apply_reply import a_fault
from workers.exceptions import StateError
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.rules import apply_reply, compensation, evidence, late_success, operator_commands
from workers.rules.external_answers import Outcome, answer
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess

UNDO = {"name": "refund", "agent": "pay.refund"}
KEY = "a:1:2"
RESULT: dict[str, Any] = {"result": {"charge": "ch_late"}}


def undone(
    undo_state: str = "processed", *, state: str = "compensated", process: str = "cancelled"
) -> tuple[LockedProcess, StepRow, StepRow]:
    step = a_step("collect", state, undo=UNDO, attempt=1, idempotency_key=KEY)
    undo = a_step("refund", undo_state, undoes_id=step.id, idempotency_key=f"{KEY}:undo")
    locked = a_process(step, undo, state=process)
    locked.process.outcome = "cancelled"
    locked.process.finished_at = NOW if process == "cancelled" else None
    return locked, step, undo


def events(locked: LockedProcess) -> list[str]:
    return [entry.event for entry in locked.entries]


@pytest.mark.parametrize("undo_state", ["processed", "skipped"])
@pytest.mark.parametrize("process", ["cancelled", "compensating"])
def test_it_is_kept_told_and_undone_once_more(undo_state, process):
    locked, step, undo = undone(undo_state, process=process)

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED

    assert (undo.state, undo.not_before, undo.failure_count) == ("pending", NOW, 0)
    assert (locked.process.state, locked.process.finished_at) == ("compensating", None)
    assert evidence.of(step) != "undone"
    (kept,) = [entry for entry in locked.entries if entry.event == "late_success"]
    assert kept.detail == {"step": "collect", "answer": RESULT}
    assert [alert.code for alert in locked.alerts] == ["late_success"]


def test_once_undone_again_the_process_ends_as_before():
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


def test_where_no_undo_was_made_a_person_is_told_and_nothing_is_left_to_undo():
    step = a_step("collect", "cancelled", undo=UNDO, attempt=1)
    locked = a_process(step, state="cancelled")
    locked.process.outcome, locked.process.finished_at = "cancelled", NOW

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED

    assert (step.state, step.may_have_effect) == ("cancelled", False)
    assert locked.process.state == "cancelled"
    assert events(locked) == ["late_success"]
    assert [alert.code for alert in locked.alerts] == ["late_success"]


def test_said_again_it_is_no_news():
    locked, step, undo = undone()
    answer(locked, step, RESULT, "webhook:pay")
    undo.state = "processed"
    said = len(locked.entries)

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.REPEATED
    assert (undo.state, len(locked.entries), len(locked.alerts)) == ("processed", said, 1)


def test_an_undo_at_work_is_asked_again_after_that():
    locked, step, undo = undone("processing", process="compensating")

    answer(locked, step, RESULT, "webhook:pay")
    assert undo.state == "processing"
    apply_reply.apply_result(locked, undo, {"refund": None}, "scheduler")

    assert (undo.state, step.early) == ("pending", RESULT)
    undo.state = "processing"
    apply_reply.apply_result(locked, undo, {"refund": "re_1"}, "scheduler")
    assert undo.state == "processed"


def test_an_undo_that_is_yet_to_begin_needs_nobody():
    locked, step, undo = undone("waiting", state="cancelled", process="compensating")

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED
    assert (undo.state, locked.alerts, events(locked)) == ("waiting", [], ["late_success"])
    assert not evidence.is_none(step)


def test_where_nothing_undoes_it_an_operator_is_told():
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
def test_what_is_no_news_changes_nothing(columns, body, actor, outcome):
    locked, step, undo = undone()
    for name, value in columns.items():
        give(step, name, value)
    before = repr(step), repr(undo)

    assert answer(locked, step, body, actor) == outcome
    assert (repr(step), repr(undo)) == before
    assert (locked.entries, locked.alerts, locked.step_origins) == ([], [], {})


@pytest.mark.parametrize(
    ("state", "columns", "known"),
    [
        ("processed", {"is_by_hand": True, "may_have_effect": True}, "by hand"),
        ("skipped", {}, "possible"),
    ],
)
@pytest.mark.parametrize("process", ["processing", "processed", "error"])
def test_success_beside_a_persons_end_is_kept_and_told(state, columns, known, process):
    step = a_step("collect", state, undo=UNDO, attempt=1, **columns)
    locked = a_process(step, state=process)
    locked.results_as_read[step.id] = '{"paid": "by transfer"}'

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED
    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.REPEATED

    assert (step.state, evidence.of(step), step.is_in_doubt) == (state, known, True)
    assert (locked.process.state, events(locked)) == (process, ["late_success"])
    assert [alert.params["says"] for alert in locked.alerts] == [["beside"]]


def test_success_after_a_failure_that_was_given_up_is_told():
    step = a_step("collect", "error", undo=UNDO, attempt=1, fault=a_fault("refused"))
    locked = a_process(step, state="compensated")
    locked.process.outcome = "compensated"

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED

    assert (step.state, events(locked)) == ("error", ["late_success"])
    assert [alert.params["says"] for alert in locked.alerts] == [["lasting"]]


@pytest.mark.parametrize("undo_state", ["waiting", "pending"])
def test_success_before_the_undo_of_a_failure_is_kept(undo_state):
    locked, step, undo = undone(undo_state, state="error", process="compensating")

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED
    assert (undo.state, locked.alerts, events(locked)) == (undo_state, [], ["late_success"])


@pytest.mark.parametrize("act", ["complete", "skip"])
@pytest.mark.parametrize(("effect", "is_in_doubt"), [("idempotent", True), ("none", False)])
def test_persons_end_of_an_accepted_call_leaves_its_doubt(act, effect, is_in_doubt):
    step = a_step("collect", deferral={"question": ""}, effect=effect)
    step.may_have_effect = is_in_doubt
    locked = a_process(step)
    if act == "complete":
        operator_commands.complete(locked, "collect", {}, "operator:ann", "paid")
    else:
        operator_commands.skip(locked, "collect", "operator:ann", "")

    assert (step.may_have_effect, step.is_in_doubt) == (is_in_doubt, is_in_doubt)


@pytest.mark.parametrize("undo_state", ["processed", "processing"])
def test_what_a_person_undid_is_not_undone_beside_it(undo_state):
    locked, step, undo = undone(undo_state)
    if undo_state == "processed":
        undo.is_by_hand = undo.may_have_effect = True

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED
    if undo_state == "processing":
        # The call under way fails, and a person gives it back.
        undo.is_by_hand = undo.may_have_effect = True
        apply_reply.apply_result(locked, undo, {}, "operator:ann")

    says = "beside" if undo_state == "processed" else "undone_again"
    assert [alert.params["says"] for alert in locked.alerts] == [[says]]
    assert (undo.state, step.early) == ("processed", RESULT)


def test_success_after_a_person_did_and_undid_it_is_told():
    locked, step, undo = undone()
    step.state, step.is_by_hand, step.may_have_effect = "processed", True, True
    locked.results_as_read[step.id] = '{"paid": "by transfer"}'
    undo.is_by_hand = undo.may_have_effect = True
    compensation.undone(locked, undo, "operator:ann")

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED
    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.REPEATED

    assert (undo.state, evidence.of(step)) == ("processed", "undone")
    assert [alert.params["says"] for alert in locked.alerts] == [["beside"]]


def test_undo_that_waits_for_its_service_is_asked_again_after_that():
    locked, step, undo = undone("processing", process="compensating")
    undo.deferral = {"question": ""}

    answer(locked, step, RESULT, "webhook:pay")
    answer(locked, undo, {"result": {"refund": None}}, "webhook:pay")

    assert (undo.state, step.early) == ("pending", RESULT)


def test_undo_of_an_earlier_key_is_not_asked_again():
    locked, step, undo = undone()
    step.idempotency_key = "a:1:3"

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED
    assert (undo.state, locked.alerts[0].params["says"]) == ("processed", ["lasting"])


@pytest.mark.parametrize(
    ("end", "state", "says"),
    [
        ("fails", "error", []),
        ("refused", "error", []),
        ("given up", "cancelled", []),
        ("skipped", "skipped", ["beside"]),
        ("by hand", "processed", ["beside"]),
    ],
)
def test_success_that_came_during_a_call_outlives_its_end(
    end: str, state: str, says: list[str]
) -> None:
    step = a_step("collect", undo=UNDO, early=RESULT, failure_threshold=1)
    locked = a_process(step)
    fault = a_fault("transient" if end != "refused" else "permanent")
    if end == "given up":
        locked.process.outcome = "cancelled"
    if end in ("skipped", "by hand"):
        step.failure_threshold = 2
    if end == "refused":
        fault = FaultRecord("permanent", "no", "no", no_effect=True)
    apply_reply.apply_fault(locked, step, fault, "scheduler", None)
    if end == "skipped":
        operator_commands.skip(locked, "collect", "operator:ann", "")
    if end == "by hand":
        operator_commands.complete(locked, "collect", {}, "operator:ann", "")

    assert (step.state, step.early, step.may_have_effect) == (state, RESULT, True)
    assert "nobody_asked" not in events(locked)
    assert [alert.params["says"] for alert in locked.alerts if alert.code == "late_success"] == (
        [says] if says else []
    )


def test_what_a_late_success_proved_is_not_done_again_unasked():
    step = a_step("collect", "skipped", attempt=1, effect="unsafe")
    locked = a_process(step, state="processed")
    answer(locked, step, RESULT, "webhook:pay")

    with pytest.raises(StateError, match="twice"):
        operator_commands.redo(locked, "collect", "operator:ann", "")


@pytest.mark.parametrize("is_lost", [True, False])
def test_success_of_a_call_that_the_database_has_lost_is_told(is_lost):
    step = a_step("collect", "cancelled", undo={**UNDO, "is_lost": is_lost})
    locked = a_process(step, state="cancelled")
    locked.process.outcome = "cancelled"

    assert answer(locked, step, RESULT, "webhook:pay") == Outcome.IGNORED
    assert events(locked) == ["late_success"] * is_lost


def test_success_of_a_claim_that_is_over_is_told_under_a_former_key_too():
    step = a_step("collect", "processing", attempt=2, idempotency_key=KEY)
    locked = a_process(step)
    replies = [Reply(step.id, uuid4(), 1, {"charge": "ch"}, key=key) for key in ("a:1:1", KEY, "")]

    assert [late_success.of_reply(locked, step, one, "x") for one in replies] == [
        True,
        False,
        False,
    ]

    assert [alert.params["says"] for alert in locked.alerts] == [["former"]]
    assert events(locked) == ["late_success"]
