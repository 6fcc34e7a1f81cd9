"""The previews of cancelling, undoing and beginning again, and what comes of them."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tests.admin import toys
from tests.admin.conftest import every_row, order_with
from tests.admin.test_verbs import CASES, PROCESS
from tests.factories import put
from tests.toyflow import agents as toy
from workers.models import Process, Step


def shown(client: Client, process: Process, address: str) -> str:
    """Return the words of a page."""
    html = client.get(f"{PROCESS}/{process.pk}/{address}").content.decode()
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_cancelling_shows_its_undo_in_order_and_does_just_that(operator, wire):
    process = toys.asked(wire)

    text = shown(operator, process, "cancel/")
    assert "unask by toy.undoer, for ask undo_first by toy.undoer, for first" in text
    assert "Will not run ask then" in text

    operator.post(f"{PROCESS}/{process.pk}/cancel/", CASES["cancel"].filled(process))
    wire.run_until_idle()
    process.refresh_from_db()
    assert process.state == "cancelled"
    assert [name for name, _ in toy.undone] == ["unask", "undo_first"]


def test_undoing_ends_as_compensated(operator, wire):
    process = toys.asked(wire)
    operator.post(f"{PROCESS}/{process.pk}/compensate/", CASES["compensate"].filled(process))
    wire.run_until_idle()
    process.refresh_from_db()
    assert process.state == "compensated"


def test_what_nothing_undoes_is_told(operator, wire):
    toy.script["toy.beta"] = toys.raises(RuntimeError("broke"))
    process = toys.begun(wire, "toy_line")
    text = shown(operator, process, "cancel/")
    assert "May have had an effect, and nothing undoes it one two" in text


@pytest.mark.parametrize("address", ["cancel/", "begin-again/charge_payment/"])
def test_undo_that_would_find_no_key_is_shown_as_a_persons(operator, address):
    undo = {"name": "refund_payment", "agent": "payment.refund"}
    order = order_with(charge_payment={"state": "error", "undo": undo})
    Process.objects.filter(pk=order.process_id).update(state="error")
    put(
        Step.objects.filter(process=order.process_id, name="charge_payment"),
        may_have_effect=True,
        is_in_doubt=True,
        key_retention_seconds=60,
        key_used_at=timezone.now() - timedelta(minutes=2),
    )

    text = shown(operator, order.process, address)

    assert "refund_payment by a person, for charge_payment" in text
    assert "its service has forgotten the key: check there first charge_payment" in text


def test_what_is_at_work_runs_to_its_end_first(operator):
    undo = {"name": "refund_payment", "agent": "payment.refund"}
    order = order_with(charge_payment={"started": True, "undo": undo})
    text = shown(operator, order.process, "cancel/")
    assert "At work just now: runs to its end first charge_payment" in text
    assert "refund_payment by payment.refund, for charge_payment" in text


def test_a_paused_process_says_that_its_undo_waits(operator, wire):
    process = toys.paused(wire)
    assert "nothing is undone until somebody resumes it" in shown(operator, process, "cancel/")


def test_past_the_point_of_no_return_it_says_why_not(operator, wire):
    process = toys.asked(wire)
    Process.objects.filter(pk=process.pk).update(no_return=["first"])
    before = every_row()

    assert "past its point of no return" in shown(operator, process, "cancel/")
    page = operator.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert f"/{process.pk}/cancel/" not in page
    answer = operator.post(f"{PROCESS}/{process.pk}/cancel/", CASES["cancel"].filled(process))

    assert answer.status_code == 409
    assert "past its point of no return" in answer.content.decode()
    assert every_row() == before


def test_beginning_again_shows_both_ways_and_goes_them(operator, wire):
    process = toys.failed(wire)
    keys = dict(Step.objects.filter(process=process).values_list("name", "idempotency_key"))

    text = shown(operator, process, "begin-again/ask/")
    assert "unask by toy.undoer, for ask" in text
    assert "undo_first" not in text
    assert "Begin again ask then" in text

    toy.script.clear()
    case = CASES["begin_again"]
    operator.post(f"{PROCESS}/{process.pk}/begin-again/ask/", case.filled(process))
    wire.run_until_idle()
    process.refresh_from_db()
    after = dict(Step.objects.filter(process=process).values_list("name", "idempotency_key"))
    assert process.state == "processed"
    assert {name for name in keys if keys[name] != after[name]} == {"ask", "then"}


def test_a_step_that_has_not_begun_cannot_begin_again(operator, wire):
    process = toys.asked(wire)
    assert "has not been done" in shown(operator, process, "begin-again/then/")
