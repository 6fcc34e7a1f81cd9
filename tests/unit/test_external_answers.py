"""Answers from outside, on rows in memory: valid whatever the claim, once."""

import pytest
from msgspec import structs

from tests.unit.build import a_process, a_step
from tests.unit.test_apply_reply import a_fault, a_reply
from workers.exceptions import StateError
from workers.protocol.faults import FaultRecord
from workers.rules import apply_reply, evidence, external_answers, overdue_answers
from workers.rules.external_answers import Outcome, answer

RESULT = {"result": {"paid": True}}


@pytest.mark.parametrize("state", ["processed", "skipped", "compensated"])
def test_a_step_that_has_ended_has_had_its_answer(state):
    step = a_step("a", state)
    locked = a_process(step)

    assert answer(locked, step, RESULT, "callback") == Outcome.REPEATED
    assert (step.state, locked.entries) == (state, [])


def test_a_cancelled_step_wants_none():
    step = a_step("a", "cancelled")

    assert answer(a_process(step), step, RESULT, "callback") == Outcome.IGNORED


@pytest.mark.parametrize(
    "columns",
    [
        {"deferral": {"seconds": 60}},
        {"state": "pending", "may_have_effect": True},
        {"state": "error", "may_have_effect": True, "is_in_doubt": True},
    ],
    ids=["deferred", "to be tried again", "in error"],
)
def test_a_result_ends_the_step_whatever_its_claim_is(columns):
    step = a_step("a", columns.pop("state", "processing"), **columns)

    assert answer(a_process(step), step, RESULT, "callback") == Outcome.ACCEPTED
    assert (step.state, step.result) == ("processed", {"paid": True})
    assert (step.may_have_effect, step.is_in_doubt) == (True, False)


def test_an_early_answer_is_kept_once():
    step = a_step("a", "pending")
    locked = a_process(step)

    assert answer(locked, step, RESULT, "callback") == Outcome.KEPT
    assert answer(locked, step, {"result": {}}, "callback") == Outcome.REPEATED
    assert (step.state, step.early) == ("pending", RESULT)
    assert [entry.event for entry in locked.entries] == ["answer_kept"]


DECLINED = {"fault": FaultRecord("refused", "declined", "no", no_effect=True).to_json()}


@pytest.mark.parametrize("body", [RESULT, DECLINED])
def test_an_answer_during_a_call_is_kept_and_leaves_its_effect_possible(body):
    step = a_step("a")
    locked = a_process(step)

    assert answer(locked, step, body, "callback") == Outcome.KEPT
    assert (step.state, step.early, evidence.of(step)) == ("processing", body, "possible")
    assert step.claim_id is not None


@pytest.mark.parametrize("body", [RESULT, DECLINED])
def test_a_call_that_defers_takes_the_answer_that_came_meanwhile(body):
    step = a_step("a", early=body)
    locked = a_process(step)

    reply = a_reply(step, result=None, deferral={"seconds": 60})
    assert apply_reply.apply_reply(locked, reply, "scheduler")

    assert step.state == ("processed" if "result" in body else "error")
    assert step.early is None
    assert "nobody_asked" not in [entry.event for entry in locked.entries]


@pytest.mark.parametrize(
    ("fault", "state", "known"),
    [
        (None, "processed", "certain"),
        (FaultRecord("permanent", "http_400", "no", no_effect=True), "error", "none"),
        (FaultRecord("permanent", "http_400", "no"), "error", "possible"),
    ],
)
def test_a_call_that_ends_otherwise_was_nobodys_question(fault, state, known):
    step = a_step("a", early=DECLINED)
    locked = a_process(step)

    assert apply_reply.apply_reply(locked, a_reply(step, fault), "scheduler")

    assert (step.state, step.early, evidence.of(step)) == (state, None, known)
    (noted,) = [entry for entry in locked.entries if entry.event == "nobody_asked"]
    assert noted.detail == {"step": "a", "answer": DECLINED}


def test_an_answer_outlives_an_attempt_that_is_made_again():
    step = a_step("a", early=RESULT)

    fault = FaultRecord("transient", "timeout", "no answer in time")
    apply_reply.apply_reply(a_process(step), a_reply(step, fault), "scheduler")

    assert (step.state, step.early) == ("pending", RESULT)


@pytest.mark.parametrize(
    ("state", "columns"),
    [
        ("processing", {}),
        ("pending", {"attempt": 1, "may_have_effect": True, "is_in_doubt": True}),
        ("error", {"attempt": 3, "may_have_effect": True, "is_in_doubt": True}),
        ("processing", {"deferral": {"question": "", "permission": ""}}),
        ("processing", {"deferral": {"question": ""}, "undoes_id": 7}),
        ("error", {"attempt": 3, "fault": overdue_answers.UNANSWERED}),
    ],
    ids=["at work", "to be tried again", "in error", "deferred", "deferred undo", "unanswered"],
)
@pytest.mark.parametrize("body", [RESULT, DECLINED])
def test_answer_by_person_changes_nothing_on_step_that_never_asked(body, state, columns):
    step = a_step("a", state, **columns)
    locked, before = a_process(step), repr(step)

    if state == "error" and body is DECLINED:
        assert answer(locked, step, body, "operator:ann") == Outcome.IGNORED
    else:
        with pytest.raises(StateError, match="has asked nobody"):
            answer(locked, step, body, "operator:ann")

    assert (repr(step), locked.entries, locked.step_origins) == (before, [], {})


def _unanswered(permission: str) -> FaultRecord:
    return structs.replace(overdue_answers.UNANSWERED, permission=permission)


@pytest.mark.parametrize(
    ("state", "columns", "outcome"),
    [
        ("waiting", {}, Outcome.KEPT),
        ("pending", {}, Outcome.KEPT),
        ("processing", {"deferral": {"question": "Paid?"}}, Outcome.ACCEPTED),
        ("processing", {"deferral": {"permission": "shop.approve"}}, Outcome.ACCEPTED),
        ("processing", {"early": RESULT}, Outcome.REPEATED),
        ("error", {"attempt": 3, "fault": _unanswered("shop.approve")}, Outcome.ACCEPTED),
    ],
)
def test_a_person_answers_what_asks_or_may_ask(state, columns, outcome):
    step = a_step("a", state, **columns)

    assert answer(a_process(step), step, RESULT, "operator:ann") == outcome


@pytest.mark.parametrize("body", [RESULT, DECLINED])
@pytest.mark.parametrize("question", ["", "Paid?"])
def test_early_answer_by_person_counts_only_if_the_step_asks_somebody(body, question):
    step = a_step("a", "waiting")
    locked = a_process(step)
    answer(locked, step, body, "operator:ann")
    assert external_answers.is_same(step, body)
    step.state, step.attempt = "processing", 1

    deferral = {"seconds": 60, "question": question}
    assert apply_reply.apply_reply(locked, a_reply(step, result=None, deferral=deferral), "x")

    assert step.is_deferred is not bool(question)
    assert step.early is None
    dropped = [entry.detail["answer"] for entry in locked.entries if entry.event == "nobody_asked"]
    assert dropped == ([] if question else [body])


def test_a_fault_of_an_attempt_that_is_over_is_not_kept():
    step = a_step("a", "pending", attempt=1)

    assert (
        answer(a_process(step), step, {"fault": a_fault("permanent").to_json()}, "x")
        == Outcome.IGNORED
    )
    assert step.early is None


@pytest.mark.parametrize("kind", ["unavailable", "transient"])
def test_a_fault_that_may_pass_says_nothing_of_a_step_that_is_tried_again(kind):
    step = a_step("a", "pending", may_have_effect=True)

    assert answer(a_process(step), step, {"fault": a_fault(kind).to_json()}, "x") == Outcome.IGNORED
    assert step.state == "pending"


def test_a_fault_of_a_step_in_error_is_known_already():
    step = a_step("a", "error")

    assert (
        answer(a_process(step), step, {"fault": a_fault("permanent").to_json()}, "x")
        == Outcome.IGNORED
    )


def test_the_answer_to_the_last_step_in_error_lets_the_process_go_on():
    step, other = a_step("a", "error"), a_step("b", "error")
    locked = a_process(step, other, state="error")

    answer(locked, step, RESULT, "callback")
    assert locked.process.state == "error"
    answer(locked, other, RESULT, "callback")
    assert locked.process.state == "processing"


def test_progress_is_noted_only_where_it_is_waited_for():
    step, busy = a_step("a", deferral={"seconds": 60}), a_step("b")
    locked = a_process(step, busy)

    assert external_answers.report_progress(locked, step, {"done": 3})
    assert step.deferral is not None
    assert step.deferral["progress"] == {"done": 3}
    assert not external_answers.report_progress(locked, busy, {"done": 3})
