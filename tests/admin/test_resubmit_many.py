"""Resubmitting many orders: a frozen set, a preview, and an honest count."""

import re

from django.test import Client

from orders.models import Order
from tests.admin.conftest import every_row, order_in_error, order_with
from workers.client import operations
from workers.models import Journal, Process

LIST = "/admin/orders/order/"
CONFIRM = "/admin/orders/order/resubmit/"


def select(client: Client, *orders: Order, **more: str):
    data = {"action": "resubmit_selected", "_selected_action": [o.number for o in orders]}
    return client.post(LIST, {**data, **more})


def seen_in(html: str) -> str:
    found = re.search(r'name="seen" value="([^"]*)"', html)
    assert found is not None
    return found[1]


def test_the_preview_counts_and_says_who_is_left_out(operator):
    failed = [order_in_error(), order_in_error()]
    fine = order_with(charge_payment="started")
    done = order_with("processed")
    before = every_row()

    response = select(operator, *failed, fine, done)

    html = response.content.decode()
    assert "2 of 4 selected change." in html
    assert "74.00" in html
    assert "charge_payment: 2" in html
    changing, staying = html.split("These stay as they are")
    assert [str(order) in changing for order in (*failed, fine, done)] == [True, True, False, False]
    assert f"{fine} is processing, and no step of it is in error" in staying
    assert f"{done} is processed, and no step of it is in error" in staying
    assert seen_in(html) == ",".join(f"{o.process_id}:{o.process.sequence}" for o in failed)
    assert every_row() == before


def test_it_says_how_many_landed_and_how_many_did_not(operator, nudges):
    orders = [order_in_error() for _ in range(3)]
    late = order_in_error()
    seen = seen_in(select(operator, *orders).content.decode())
    operations.resubmit(orders[1].process_id, actor="operator:other", reason="me first")
    nudges.clear()

    response = operator.post(CONFIRM, {"seen": seen, "reason": "repaired"}, follow=True)

    html = response.content.decode()
    assert "Resubmit: 3 of 3, 1 refused" in html
    assert "has moved since" in html
    assert nudges == ["later"]
    states = dict(Process.objects.values_list("pk", "state"))
    assert [states[order.process_id] for order in orders] == ["processing"] * 3
    assert states[late.process_id] == "error"
    landed = Journal.objects.filter(event="resubmitted", step=None, actor="operator:operator")
    assert set(landed.values_list("detail__reason", flat=True)) == {"repaired"}
    assert landed.count() == 2


def test_the_job_leads_back_to_the_list_as_it_was_filtered(operator):
    order = order_in_error()
    data = {"action": "resubmit_selected", "_selected_action": [order.number]}
    html = operator.post(f"{LIST}?needs=error&q=Ada", data).content.decode()
    assert f'action="{CONFIRM}?needs=error&amp;q=Ada"' in html
    form = {"seen": seen_in(html), "reason": "r"}
    response = operator.post(f"{CONFIRM}?needs=error&q=Ada", form, follow=True)
    page = response.content.decode()
    # Without the search: it may be a customer's name, and everybody reads the job.
    assert f'href="{LIST}?needs=error"' in page
    assert "q=Ada" not in page


def test_all_that_match_can_be_selected(operator):
    for _ in range(3):
        order_in_error()
    html = select(operator, Order.objects.first(), select_across="1").content.decode()
    assert "3 of 3 selected change" in html


def test_the_number_in_one_go_is_limited(operator, settings):
    settings.SAS_JOB_LIMIT = 2
    orders = [order_in_error() for _ in range(3)]
    html = select(operator, *orders).content.decode()
    assert "A job has 2 at most" in html
    assert seen_in(html).count(":") == 2
    form = {"seen": ",".join(f"{o.process_id}:0" for o in orders), "reason": "r"}
    response = operator.post(CONFIRM, form)
    assert response.status_code == 400
    assert "A job has 2 processes at most." in response.content.decode()


def test_a_selection_without_an_error_is_answered_at_once(operator):
    response = select(operator, order_with("processed"))
    assert response.status_code == 302
    assert "nothing of what was selected would change" in operator.get(LIST).content.decode()


def test_a_missing_reason_or_a_forged_set_changes_nothing(operator):
    order = order_in_error()
    seen = f"{order.process_id}:{order.process.sequence}"
    before = every_row()
    for bad in (
        {"seen": seen, "reason": " "},
        {"seen": "", "reason": "r"},
        {"seen": "x:1", "reason": "r"},
        {"seen": "1", "reason": "r"},
        {"seen": f"{order.process_id}:²", "reason": "r"},
        {},
    ):
        response = operator.post(CONFIRM, bad)
        assert response.status_code == 400, bad
    operator.post(CONFIRM, {"seen": "987654:0", "reason": "r"})
    assert operator.get(CONFIRM).status_code == 405
    assert every_row() == before


def test_a_page_sent_again_keeps_its_frozen_set(operator):
    order, other = order_in_error(), order_in_error()
    seen = f"{order.process_id}:{order.process.sequence}"
    html = operator.post(CONFIRM, {"seen": seen, "reason": ""}).content.decode()
    assert seen_in(html) == seen
    assert str(other) not in html
    assert "This field is required." in html


def test_without_the_permission_there_is_no_action(viewer):
    order = order_in_error()
    before = every_row()
    assert "resubmit_selected" not in viewer.get(LIST).content.decode()
    select(viewer, order)
    form = {"seen": f"{order.process_id}:{order.process.sequence}", "reason": "r"}
    assert viewer.post(CONFIRM, form).status_code == 403
    assert every_row() == before
