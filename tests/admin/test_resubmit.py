"""Resubmitting one order: it lands once, with a reason, or nothing is changed at all."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from orders.models import Order
from tests.admin.conftest import every_row, order_in_error, order_with
from workers.client import operations
from workers.models import Journal, Process, Step


def url(order: Order) -> str:
    return f"/admin/orders/order/{order.number}/resubmit/"


def form(order: Order, **changes: object) -> dict[str, object]:
    return {"reason": "The bank is back.", "sequence": order.process.sequence, **changes}


def test_it_gives_the_attempts_back_and_says_who_and_why(operator, nudges):
    order, other = order_in_error(), order_in_error()
    before = every_row()

    response = operator.post(url(order), form(order), follow=True)

    assert response.redirect_chain == [(f"/admin/orders/order/{order.number}/change/", 302)]
    assert "was resubmitted: charge_payment" in response.content.decode()
    assert nudges == ["later"]
    after = every_row()
    process = Process.objects.get(pk=order.process_id)
    assert (process.state, process.sequence) == ("processing", order.process.sequence + 1)
    step = Step.objects.get(process=process, name="charge_payment")
    assert (step.state, step.failure_count, step.attempt) == ("pending", 0, 3)
    entries = Journal.objects.order_by("id").values_list("event", "actor", "detail__reason")
    assert list(entries) == [("resubmitted", "operator:operator", "The bank is back.")] * 2
    moved = {("Process", process.pk), ("Step", step.pk)}
    for table in ("Process", "Step", "Alert", "Order"):
        for old, new in zip(before[table], after[table], strict=True):
            key = (table, old.get("id", old.get("number")))
            assert (old != new) == (key in moved), key
    assert other.process.state == "error"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"reason": ""}, 400),
        ({"reason": "   "}, 400),
        ({"reason": "x" * 501}, 400),
        ({"sequence": ""}, 400),
        ({"sequence": "x"}, 400),
        ({"sequence": "-1"}, 400),
        ({"sequence": "99"}, 409),
    ],
)
def test_it_is_refused_and_nothing_changes(operator, nudges, changes, status):
    order = order_in_error()
    before = every_row()

    response = operator.post(url(order), form(order, **changes))

    assert response.status_code == status
    assert every_row() == before
    assert nudges == []


def test_a_process_that_moved_meanwhile_is_left_alone(operator):
    order = order_in_error()
    seen = form(order)
    operations.resubmit(order.process_id, actor="operator:other", reason="me first")
    before = every_row()

    response = operator.post(url(order), seen)

    html = response.content.decode()
    assert response.status_code == 409
    assert "has moved since the page was opened" in html
    assert "there is nothing to resubmit" in html
    assert "<textarea" not in html
    assert every_row() == before


def test_after_a_refusal_the_page_shows_what_is_now(operator):
    order = order_in_error()
    Process.objects.filter(pk=order.process_id).update(sequence=7)

    html = operator.post(url(order), form(order)).content.decode()

    assert 'name="sequence" value="7"' in html
    assert "The bank is back." in html


def test_a_double_click_leaves_one_entry(operator):
    order = order_in_error()
    seen = form(order)

    answers = [operator.post(url(order), seen).status_code for _ in range(2)]

    assert answers == [302, 409]
    assert Journal.objects.filter(event="resubmitted", step=None).count() == 1


def test_looking_changes_nothing(operator):
    order = order_in_error()
    before = every_row()
    html = operator.get(url(order)).content.decode()
    assert "is given to payment.charge again, with 3 attempts" in html
    assert operator.head(url(order)).status_code == 200
    assert operator.put(url(order)).status_code == 405
    assert every_row() == before


def test_an_order_that_goes_well_has_no_button_and_no_form(operator):
    order = order_with(charge_payment="started")
    page = operator.get(f"/admin/orders/order/{order.number}/change/").content.decode()
    assert "/resubmit/" not in page
    assert "<textarea" not in operator.get(url(order)).content.decode()


def test_without_the_permission_it_is_forbidden(viewer):
    order = order_in_error()
    before = every_row()
    page = viewer.get(f"/admin/orders/order/{order.number}/change/").content.decode()
    assert "/resubmit/" not in page
    assert viewer.get(url(order)).status_code == 403
    assert viewer.post(url(order), form(order)).status_code == 403
    # Nor is it told which orders there are.
    assert viewer.get("/admin/orders/order/987654/resubmit/").status_code == 403
    assert every_row() == before


def test_strangers_and_forged_forms_are_kept_out(operator, client):
    order = order_in_error()
    before = every_row()
    assert client.post(url(order), form(order)).status_code == 302
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(get_user_model().objects.get(username="operator"))
    assert strict.post(url(order), form(order)).status_code == 403
    assert operator.post("/admin/orders/order/987654/resubmit/", form(order)).status_code == 404
    assert every_row() == before
