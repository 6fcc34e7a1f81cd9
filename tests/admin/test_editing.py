"""Editing the input: a field for each path, the diff, and only then the change."""

from typing import Any

import pytest
from django.test import Client

from tests.admin import toys
from tests.admin.conftest import every_row
from tests.admin.test_verbs import CASES, PROCESS
from workers.models import Journal, Process

CASE = CASES["input"]


def send(client: Client, process: Process, **values: Any) -> Any:
    form = {**CASE.filled(process), "value_0": "1 High Street", **values}
    form.pop("confirm", None) if "confirm" not in values else None
    return client.post(CASE.url(process), form)


def test_each_path_that_may_be_changed_has_its_field_and_value(operator, wire):
    html = operator.get(CASE.url(toys.editable(wire))).content.decode()
    assert '<label for="id_value_0">customer.address:</label>' in html
    assert 'value="1 High Street"' in html
    assert '<input type="checkbox" name="value_1" id="id_value_1">' in html
    assert "customer.name" not in html


def test_the_diff_is_shown_first_and_nothing_changes(operator, wire):
    process = toys.editable(wire)
    before = every_row()

    response = send(operator, process, value_0="2 <b>Low</b> Road", value_1="on")

    html = response.content.decode()
    assert response.status_code == 200
    assert "<del>1 High Street</del>" in html
    assert "<ins>2 &lt;b&gt;Low&lt;/b&gt; Road</ins>" in html
    assert "<del>false</del>" in html
    assert 'type="hidden" name="value_0"' in html
    assert 'name="confirm"' in html
    assert every_row() == before


def test_confirmed_the_input_is_changed_and_the_journal_shows_how(operator, wire):
    process = toys.editable(wire)
    response = send(operator, process, value_0="2 Low Road", value_1="True", confirm="yes")
    assert response.status_code == 302

    process.refresh_from_db()
    wanted = {"customer": {"name": "Ada", "address": "2 Low Road"}, "gift": True}
    assert process.input == wanted
    page = operator.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert "Its input was changed" in page
    assert "customer.address: 1 High Street → 2 Low Road; gift: false → true" in page


def test_edit_again_shows_the_fields_as_they_were_filled_in(operator, wire):
    process = toys.editable(wire)
    before = every_row()
    html = send(operator, process, value_0="2 Low Road", edit="yes").content.decode()
    assert '<input type="text" name="value_0" value="2 Low Road"' in html
    assert "<ins>" not in html
    assert every_row() == before


def test_nothing_different_is_refused(operator, wire):
    process = toys.editable(wire)
    for changes in ({}, {"confirm": "yes"}):
        response = send(operator, process, **changes)
        assert response.status_code == 400
        assert "No changes" in response.content.decode()


def test_an_old_page_is_refused_before_the_diff(operator, wire):
    process = toys.editable(wire)
    response = send(operator, process, value_0="2 Low Road", sequence=99)
    assert response.status_code == 409
    assert "has moved since" in response.content.decode()


def test_line_ends_of_a_browser_are_no_change(operator, wire):
    process = toys.editable(wire)
    Process.objects.filter(pk=process.pk).update(
        input={"customer": {"address": "1 High Street\nYork"}, "gift": False}
    )
    assert "<textarea" in operator.get(CASE.url(process)).content.decode()
    response = send(operator, process, value_0="1 High Street\r\nYork", confirm="yes")
    assert response.status_code == 400
    send(operator, process, value_0="2 Low Road\r\nYork", confirm="yes")
    process.refresh_from_db()
    assert process.input["customer"]["address"] == "2 Low Road\nYork"


@pytest.mark.parametrize(
    ("value", "sent", "status"),
    [(5, "6", 302), (5, "six", 400), (1.5, "2.5", 302), ([1], "[2]", 302), ([1], "{}", 400)],
)
def test_a_value_keeps_its_type(operator, wire, value, sent, status):
    process = toys.editable(wire)
    Process.objects.filter(pk=process.pk).update(input={"gift": value})
    response = send(operator, process, value_0=sent, confirm="yes")
    assert response.status_code == status
    assert Journal.objects.filter(event="input_edited").count() == (status == 302)


@pytest.mark.parametrize("sent", ['["\\u0000"]', "[NaN]", '[{"__type__": 1}]'])
def test_what_cannot_be_stored_is_refused(operator, wire, sent):
    process = toys.editable(wire)
    Process.objects.filter(pk=process.pk).update(input={"gift": [1]})
    before = every_row()
    assert send(operator, process, value_0=sent, confirm="yes").status_code == 400
    assert every_row() == before


def test_a_nul_is_refused(operator, wire):
    process = toys.editable(wire)
    assert send(operator, process, value_0="a\x00b", confirm="yes").status_code == 400


def test_a_workflow_that_lets_nothing_be_changed_says_so(operator, wire):
    process = toys.asked(wire)
    html = operator.get(CASE.url(process)).content.decode()
    assert "does not allow changes to its input" in html
