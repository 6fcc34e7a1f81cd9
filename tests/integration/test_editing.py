"""Editing the input: only what the workflow allows, shown as a diff, journalled."""

from typing import Any

import pytest

from tests.toyflow import agents as toy
from workers.client import operations
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Permanent, StateError
from workers.models import Journal, Process
from workers.store.operate import edit_input

ORDER = {"customer": {"address": "12 Oak St", "name": "Ada"}, "gift": False}


@pytest.fixture
def failed(wire) -> Process:
    def refuse(call: Call) -> dict[str, Any]:
        raise Permanent("no_such_address", "no such address")

    toy.script["toy.alpha"] = refuse
    process = submit("toy_editable", subject="Toy 1", input=ORDER)
    wire.run_until_idle()
    toy.script.clear()
    return process


def edit(process: Process, **changes: Any) -> dict[str, list[Any]]:
    return edit_input.edit_input(
        process.pk,
        {name.replace("__", "."): value for name, value in changes.items()},
        actor="ann",
        reason="typing error",
    )


def test_the_next_call_works_from_the_changed_input(failed, wire):
    seen: list[dict[str, Any]] = []

    def see(call: Call) -> dict[str, Any]:
        seen.append(call.payload)
        return {}

    toy.script["toy.alpha"] = see
    assert edit(failed, customer__address="21 Oak St") == {
        "customer.address": ["12 Oak St", "21 Oak St"]
    }
    operations.resubmit(failed.pk, actor="ann", reason="")
    wire.run_until_idle()

    assert seen == [{"to": "21 Oak St"}]
    row = Journal.objects.get(process=failed, event="input_edited")
    assert row.detail == {
        "reason": "typing error",
        "changes": {"customer.address": ["12 Oak St", "21 Oak St"]},
    }
    failed.refresh_from_db()
    assert failed.input["customer"] == {"address": "21 Oak St", "name": "Ada"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"customer__name": "Eve"}, "may not be changed"),
        ({"customer": {}}, "may not be changed"),
        ({"gift": "yes"}, "cannot become a str"),
        ({"gift": 1}, "cannot become a int"),
        ({"customer__address": None}, "cannot become a NoneType"),
        ({"customer__address": "12 Oak St"}, "No changes"),
        ({}, "No changes"),
    ],
    ids=str,
)
def test_anything_else_is_refused_and_nothing_changed(failed, changes, says):
    rows = Journal.objects.count()
    with pytest.raises(StateError, match=says):
        edit(failed, **changes)
    failed.refresh_from_db()
    assert failed.input == ORDER
    assert Journal.objects.count() == rows


def test_one_wrong_change_of_two_changes_nothing(failed):
    with pytest.raises(StateError):
        edit(failed, customer__address="21 Oak St", gift="yes")
    failed.refresh_from_db()
    assert failed.input == ORDER


def test_what_is_missing_from_the_input_is_not_made_up(wire):
    process = submit("toy_editable", subject="Toy 1", input={"customer": {"address": "x"}})
    with pytest.raises(StateError, match="not in this input"):
        edit(process, gift=True)


def test_a_final_process_keeps_its_input(wire):
    process = submit("toy_editable", subject="Toy 1", input=ORDER)
    wire.run_until_idle()
    with pytest.raises(StateError, match="no agent will read it"):
        edit(process, gift=True)


def test_the_second_of_two_editors_is_refused(failed):
    failed.refresh_from_db()
    seen = failed.sequence
    edit(failed, gift=True)
    with pytest.raises(StateError, match="has moved"):
        edit_input.edit_input(failed.pk, {"gift": False}, actor="bob", reason="", sequence=seen)
    failed.refresh_from_db()
    assert failed.input["gift"] is True
