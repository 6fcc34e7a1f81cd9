"""Every journal event has its words, and what it is about is told at a glance."""

import ast
from pathlib import Path

import pytest

from tests.admin import toys
from tests.admin.conftest import note, order_with
from tests.guard.syntax import tree_of
from tests.toyflow import agents as toy
from workers.client import callbacks, operations, progress
from workers.desk.admin import timeline, wording
from workers.models import Process, Step
from workers.protocol import callback_tokens
from workers.store.claims import release

#: (event, of a step, its words)
EVENTS = [
    ("deferred", True, "Asked, and waits for an answer"),
    ("escalated", True, "The answer is overdue: an alert was raised"),
    ("answer_kept", True, "An answer came early and is kept"),
    ("late_success", True, "A success came after it was undone"),
    ("asked_again", True, "It is asked to undo once more"),
    ("nobody_asked", True, "Early answer dropped: the step ended before it asked"),
    ("paused", False, "Paused by an operator"),
    ("unpaused", False, "Resumed by an operator"),
    ("hurried", True, "Tried again without waiting"),
    ("retimed", True, "Its time was set"),
    ("input_edited", False, "Its input was changed"),
    ("begins_again", False, "Goes on, from the steps that begin again"),
    ("begins_again", True, "Begins again, with a new idempotency key"),
    ("resumed", False, "Goes on: the last step in error was dealt with"),
    ("deadline_passed", False, "Its deadline has passed"),
    ("held", False, "Held by an operator"),
    ("lifted", False, "A hold was lifted"),
    ("flow_set", False, "The flow of an agent was set"),
    ("restored", False, "The database was restored: the outcome of what may have run is unknown"),
    ("restored", True, "Its claim was void after the database was restored"),
    ("outcome_unknown", True, "Outcome unknown, and it must not be repeated"),
    ("key_expired", True, "Outcome unknown, and the service has forgotten"),
    ("condition_failed", True, "Its condition could not be evaluated"),
]


@pytest.mark.parametrize(("event", "of_step", "words"), EVENTS)
def test_an_event_is_a_sentence(event, of_step, words):
    assert wording.event(event, of_step=of_step).startswith(words)


@pytest.mark.parametrize(
    "reason", ["the broker did not take the request", release.REASON, "an operator set its time"]
)
def test_a_claim_that_was_handed_back_says_why_and_nothing_else(operator, reason):
    order = order_with()
    step = order.process.steps.get(name="charge_payment")
    note(order, "handed_back", step=step, detail={"reason": reason})

    (line,) = [one for one in timeline.read(order.process).lines if "Released" in one.event]

    assert (line.event, line.gist) == ("Released: no failure counted", reason)


def test_what_a_person_ended_is_told_apart():
    assert wording.event("processed", of_step=True, by_hand=True) == "Completed by hand"
    assert wording.event("skipped", of_step=True, by_hand=True) == "Skipped by hand"
    assert wording.event("skipped", of_step=True) == "Skipped"
    assert wording.tone("processed", by_hand=True) == "person"


@pytest.mark.parametrize(
    ("event", "detail", "gist"),
    [
        ("deferred", {"question": "paid?"}, "“paid?”"),
        ("retimed", {"timeout_seconds": [30, 60]}, "timeout_seconds: 30 → 60"),
        ("hurried", {"not_before": ["2020-01-01T10:00:00+00:00", None]}, "10:00:00 UTC → nothing"),
        ("input_edited", {"changes": {"gift": [False, True]}}, "gift: false → true"),
        ("input_edited", {"changes": {"a.b": ["<i>x</i>", "2020-01-01"]}}, "→ 2020-01-01"),
        ("deadline_passed", {"deadline_at": "2020-01-01T10:00:00+00:00"}, "2020-01-01 10:00:00"),
        ("restored", {"in_doubt": ["charge_payment"]}, "outcome unknown: charge_payment"),
        ("compensating", {"begins_again": ["one", "two"]}, "begins again: one, two"),
        ("resubmitted", {"nothing_happened": True}, "made sure that nothing had happened"),
        ("resubmitted", {"may_happen_twice": True}, "it may happen twice"),
    ],
)
def test_what_it_is_about_is_told(operator, event, detail, gist):
    order = order_with(charge_payment="started")
    note(order, event, detail=detail)
    html = operator.get(f"/admin/orders/order/{order.number}/change/").content.decode()
    assert gist in html
    assert "<i>x</i>" not in html


@pytest.mark.parametrize(
    "detail", [{"changes": "x"}, {"changes": {"a": 1}}, {"timeout_seconds": [1]}, {"in_doubt": 5}]
)
def test_a_detail_of_another_make_breaks_nothing(operator, detail):
    order = order_with(charge_payment="started")
    note(order, "input_edited", detail=detail)
    assert operator.get(f"/admin/orders/order/{order.number}/change/").status_code == 200


def test_what_a_process_waits_for_is_said(operator, wire):
    process = toys.asked(wire)
    step = Step.objects.get(process=process, name="ask")
    callbacks.progress(callback_tokens.make(step.idempotency_key), {"percent": 40})

    def shown() -> str:
        return operator.get(f"/admin/workers/process/{process.pk}/live/").content.decode()

    html = shown()
    assert "ask has been waiting for an answer since " in html
    assert "“is it paid?”, due by " in html
    assert "last report at " in html
    assert "percent: 40" in html
    assert ">Order of steps</h2>" in html

    operations.pause(process.pk, actor="operator:ann", reason="")
    assert "nothing new starts" in shown()


def test_a_whole_process_s_deadline_is_said(operator, wire):
    toy.script["toy.alpha"] = toys.raises(RuntimeError("broke"))
    for workflow, then in (("toy_dated", "or it will be undone"), ("toy_watched", "alerted")):
        process = toys.begun(wire, workflow)
        html = operator.get(f"/admin/workers/process/{process.pk}/live/").content.decode()
        assert "It must end by " in html
        assert then in html


def test_every_event_that_the_engine_writes_has_words():
    known = set(wording.STEP_EVENTS) | set(wording.PROCESS_EVENTS)
    assert _written() <= known, _written() - known


def _written() -> set[str]:
    """Return the constant events of the engine's journal entries."""
    found: set[str] = set()
    for path in (Path(__file__).parents[2] / "workers").rglob("*.py"):
        if {"admin", "testing", "migrations"} & set(path.parts):
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call):
                found |= _event_of(node)
    return found


def _event_of(call: ast.Call) -> set[str]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    place = {"note": 0, "_note": 2, "move": 2, "move_process": 1}.get(name)
    values = [keyword.value for keyword in call.keywords if keyword.arg == "event"]
    if place is not None and len(call.args) > place:
        values.append(call.args[place])
    return {
        str(value.value)
        for value in values
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    }


def test_a_process_without_a_claim_says_what_it_is_paused_for(wire):
    process = toys.editable(wire)
    Process.objects.filter(pk=process.pk).update(paused_at=process.created_at)
    found = progress.snapshot(process.pk)
    assert found.steps[0].explanation == "waits until the process is resumed"
