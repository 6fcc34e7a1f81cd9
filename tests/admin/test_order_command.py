"""``manage.py order``: the same facts and the same action, in a terminal."""

import json
from functools import partial

import pytest
from django.core.management import CommandError

from tests.admin.conftest import every_row, note, order_in_error, order_with
from tests.programs import said
from workers.models import Journal, Process

run = partial(said, "order")


def test_show_prints_order_steps_and_journal():
    order = order_in_error()
    note(order, "submitted", after="pending", actor="submitter:shop")
    note(order, "error", before="processing", after="error", detail={"reason": "two\nlines"})

    lines = run("show", order.number).splitlines()

    assert lines[0].split() == [
        "Order", str(order.number), "error", "37.00", "A***", "<a***@example.org>"
    ]  # fmt: skip
    assert lines[1].startswith("Needs an operator: charge_payment")
    text = "\n".join(lines)
    for told in ("3 of 3", "payment.charge", "Submitted", "two lines", "processing → error"):
        assert told in text, told
    assert "\x1b" not in text


def test_show_as_json_is_one_object():
    order = order_with(charge_payment="started")
    note(order, "submitted", after="pending")
    shown = json.loads(run("show", order.number, "--json"))
    assert (shown["number"], shown["state"]) == (order.number, "processing")
    assert [step["name"] for step in shown["steps"]] == [
        "reserve_stock", "charge_payment", "book_shipment"
    ]  # fmt: skip
    assert shown["steps"][1]["complete_by"] is not None
    assert [row["event"] for row in shown["journal"]] == ["submitted"]


def test_a_step_that_waits_for_an_answer_is_locked_by_nobody():
    order = order_with(charge_payment="started")
    assert "worker@test" in run("show", order.number)
    asked = order_with(charge_payment={"started": True, "deferral": {"since": "x"}})
    assert "worker@test" not in run("show", asked.number)


def test_resubmit_lands_with_its_reason(nudges):
    order = order_in_error()
    said = run("resubmit", order.number, "--reason", "repaired")
    assert said == f"Order {order.number} was resubmitted: charge_payment.\n"
    assert Process.objects.get(pk=order.process_id).state == "processing"
    entry = Journal.objects.filter(step=None).get()
    assert entry.actor.startswith("operator:")
    assert entry.detail["reason"] == "repaired"
    assert nudges == ["later"]


@pytest.mark.parametrize("reason", [[], ["--reason", "  "]])
def test_resubmit_wants_a_reason(reason):
    order = order_in_error()
    before = every_row()
    with pytest.raises(CommandError, match="Say why"):
        run("resubmit", order.number, *reason)
    assert every_row() == before


def test_resubmit_of_an_order_that_goes_well_is_refused():
    order = order_with("processed")
    before = every_row()
    with pytest.raises(CommandError, match="nothing to resubmit"):
        run("resubmit", order.number, "--reason", "r")
    assert every_row() == before


@pytest.mark.parametrize("number", [404, "9" * 30])
def test_an_unknown_number_is_told(number):
    with pytest.raises(CommandError, match="There is no order"):
        run("show", number)
