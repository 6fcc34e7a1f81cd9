"""Completing, skipping, retrying and retiming a step by hand."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.admin import toys
from tests.admin.conftest import every_row, order_with
from tests.admin.test_verbs import CASES, PROCESS
from tests.factories import put
from workers.models import Journal, Step


def test_a_completed_step_keeps_its_result_and_the_process_goes_on(operator, wire):
    process, case = toys.failed(wire), CASES["complete"]
    operator.post(case.url(process), case.filled(process, result='{"id": 7, "by": "phone"}'))

    process.refresh_from_db()
    assert process.state == "processed"
    assert Step.objects.get(process=process, name="then").result == {"id": 7, "by": "phone"}
    page = operator.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert "Completed by hand" in page


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ("{", "Enter a valid JSON."),
        ("[1]", "is a JSON object"),
        ('"done"', "is a JSON object"),
        ('{"n": NaN}', "must be JSON"),
        ('{"a": "\\u0000"}', "NUL"),
        ('{"__type__": "x"}', "__type__"),
    ],
)
def test_a_result_that_is_none_is_refused_at_its_field(operator, wire, result, why):
    process, case = toys.failed(wire), CASES["complete"]
    form, before = case.filled(process, result=result), every_row()

    response = operator.post(case.url(process), form)

    html = response.content.decode()
    assert response.status_code == 400
    field = html[html.index('for="id_result"') : html.index('id="id_result"')]
    assert why in field
    assert every_row() == before


def test_an_empty_result_is_an_empty_object(operator, wire):
    process, case = toys.failed(wire), CASES["complete"]
    assert ">\n{}</textarea>" in operator.get(case.url(process)).content.decode()
    assert operator.post(case.url(process), case.filled(process, result="")).status_code == 302
    assert Step.objects.get(process=process, name="then").result == {}


def test_a_step_at_work_is_neither_completed_nor_skipped(operator):
    order = order_with(charge_payment="started")
    before = every_row()
    for verb in ("complete", "skip"):
        url = f"{PROCESS}/{order.process_id}/steps/charge_payment/{verb}/"
        form = CASES[verb].filled(order.process)
        assert operator.post(url, form).status_code == 409
        assert "An agent is at work" in operator.get(url).content.decode()
    assert every_row() == before


def test_a_skipped_step_names_what_comes_next(operator, wire):
    process = toys.asked(wire)
    url = f"{PROCESS}/{process.pk}/steps/ask/skip/"
    html = operator.get(url).content.decode()
    assert "Come next, without its result" in html
    assert "An earlier attempt may have had its effect; it is kept." in html

    operator.post(url, CASES["skip"].filled(process))
    assert Step.objects.get(process=process, name="ask").state == "skipped"
    page = operator.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert "Skipped by hand" in page


@pytest.mark.parametrize("undo", [None, {"name": "refund_payment", "agent": "payment.refund"}])
def test_skip_warns_of_a_step_that_moves_money_or_goods(operator, undo):
    order = order_with("error", charge_payment="error")
    put(Step.objects.filter(process=order.process, name="charge_payment"), undo=undo)
    url = f"{PROCESS}/{order.process_id}/steps/charge_payment/skip/"

    warns = "such as a payment or a parcel, never happens" in operator.get(url).content.decode()

    assert warns == (undo is not None)


def test_a_retried_step_is_due_at_once(operator, wire):
    process, case = toys.resting(wire), CASES["retry"]
    html = operator.get(case.url(process)).content.decode()
    assert "answered 500" in html

    operator.post(case.url(process), case.filled(process))

    step = Step.objects.get(process=process, name="two")
    assert step.not_before <= timezone.now()
    assert step.failure_count == 1


@pytest.mark.parametrize("seconds", ["0", "-5", "601", "x", ""])
def test_a_time_that_cannot_be_is_refused_at_its_field(operator, wire, seconds):
    process, case = toys.resting(wire), CASES["retime"]
    form, before = case.filled(process, seconds=seconds), every_row()
    response = operator.post(case.url(process), form)
    assert response.status_code == 400
    assert "errorlist" in response.content.decode()
    assert every_row() == before


def test_setting_a_time_twice_lands_once(operator, wire):
    process, case = toys.resting(wire), CASES["retime"]
    form = case.filled(process)
    answers = [operator.post(case.url(process), form).status_code for _ in range(2)]
    assert answers == [302, 409]
    assert Journal.objects.filter(event="retimed").count() == 1
    assert Step.objects.get(process=process, name="two").timeout_seconds == 60


def test_an_answer_s_deadline_is_moved_from_now_on(operator, wire):
    process = toys.asked(wire)
    url = f"{PROCESS}/{process.pk}/steps/ask/retime/"
    html = operator.get(url).content.decode()
    seen = re.search(r'name="seen" value="([^"]*)"', html)
    assert seen is not None

    form = CASES["retime"].filled(process, seconds=86_400, seen=seen[1])
    assert operator.post(url, form).status_code == 302
    assert operator.post(url, form).status_code == 409

    left = Step.objects.get(process=process, name="ask").complete_by - timezone.now()
    assert timedelta(hours=23) < left <= timedelta(hours=24)
    page = operator.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert page.count('<span class="sas-event">Its time was set') == 1
    assert "complete_by: " in page
