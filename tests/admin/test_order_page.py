"""An order's page: its process in words, its steps, its journal as a timeline."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Order
from tests.admin.conftest import alert_about, note, order_in_error, order_with
from tests.factories import OrderFactory, ProcessFactory
from workers.models import Journal, Process, Step


def page(client: Client, order: Order, query: str = "") -> str:
    response = client.get(f"/admin/orders/order/{order.number}/change/{query}")
    assert response.status_code == 200
    return response.content.decode()


def events(html: str) -> list[str]:
    return re.findall(r'<span class="sas-event">([^<]*)</span>', html)


def test_the_page_tells_order_process_steps_and_alerts(operator):
    order = order_in_error(may_have_effect=True, unavailable_count=4)
    alert_about(order, message="Payment fails")

    html = page(operator, order)

    key = f"{order.process.uid.hex}:1:1"
    for told in (
        f"Order {order.number}",
        "A***",
        "a***@example.org",
        "Needs an operator: charge_payment failed for good: answered 500.",
        "Payment fails",
        "failures 3 of 3",
        "unavailable 4",
        "waits for",
        key,
        "37.00",
        order.submission_key,
        f"/admin/orders/order/{order.number}/resubmit/",
    ):
        assert told in html, told


def test_the_timeline_is_in_order_with_offsets_in_plain_words(operator):
    order = order_in_error()
    start = order.process.created_at
    step = Step.objects.get(process=order.process, name="charge_payment")
    note(order, "submitted", after="pending", sequence=1, actor="submitter:shop")
    note(order, "claimed", step=step, before="waiting", after="processing", attempt=1,
         at=start + timedelta(seconds=1.5))  # fmt: skip
    note(order, "expired", step=step, before="processing", after="pending", attempt=1,
         at=start + timedelta(seconds=95),
         detail={"step": "charge_payment", "failure_count": 1, "failure_threshold": 3,
                 "started_at": (start + timedelta(seconds=5)).isoformat()})  # fmt: skip
    note(order, "resubmitted", actor="operator:maria", detail={"reason": "repaired"})
    note(order, "brand_new_event", detail={"nested": {"a": [1]}})

    html = page(operator, order)

    assert events(html) == [
        "Submitted",
        "Claimed for an attempt",
        "Expired without a reply: one failure counted",
        "Resubmitted by an operator",
        "Brand new event",
    ]
    for told in ("+1.50 s", "+1 min 35 s", "failure 1 of 3", "took 1 min 30 s", "repaired"):
        assert told in html, told
    assert "operator:<wbr>maria" in html
    assert '<table class="sas-journal" role="table"' in html


def test_a_huge_journal_is_shown_in_portions(operator):
    order = order_with()
    Journal.objects.bulk_create(
        Journal(
            process=order.process, event=f"event_{n:04}", actor="x", at=order.process.created_at
        )
        for n in range(1000)
    )

    newest = page(operator, order)
    before = re.search(r"\?before=(\d+)", newest)

    assert events(newest) == [f"Event {n:04}" for n in range(800, 1000)]
    assert before is not None
    earlier = page(operator, order, f"?before={before[1]}")
    assert events(earlier) == [f"Event {n:04}" for n in range(600, 800)]
    assert 'data-live="part"' in newest
    assert 'data-live="part"' not in earlier


@pytest.mark.parametrize(
    "fault", [None, {}, {"kind": "transient"}, {"message": None}, {"kind": "odd", "code": 7}]
)
@pytest.mark.parametrize("state", ["error", "pending", "waiting", "skipped"])
def test_odd_faults_are_no_error(operator, fault, state):
    columns = {} if state == "waiting" else {state: True}
    order = order_with("error", charge_payment={**columns, "fault": fault})

    page(operator, order)
    assert operator.get("/admin/orders/order/").status_code == 200
    assert operator.get(f"/admin/orders/order/{order.number}/resubmit/").status_code == 200


def test_odd_rows_are_no_error(operator):
    bare = OrderFactory(process=ProcessFactory(state="error"))
    for detail in ({}, [], "text", 5, {"fault": "text"}, {"started_at": 5}, {"fault": []}):
        note(bare, "claimed", detail=detail)
    note(bare, "x" * 40, before="unheard", after="of", actor="")

    html = page(operator, bare)

    assert "This process has no steps." in html
    assert "unheard" in html
    for path in ("?before=0", "?before=abc", "?before=" + "9" * 30, "?before=-1"):
        page(operator, bare, path)


def test_markup_stays_text(operator):
    bad = "<script>alert(1)</script>"
    order = order_with("error", customer=bad, charge_payment={
        "error": True, "fault": {"kind": "transient", "code": bad, "message": bad}})  # fmt: skip
    Process.objects.filter(pk=order.process_id).update(input={"x": bad})
    note(order, "failed", actor=bad, detail={"reason": bad, bad: {bad: bad}})
    alert_about(order, message=bad, acknowledged_at=timezone.now(), comment=bad)

    urls = ("change/", "resubmit/", "live/")
    for url in [f"/admin/orders/order/{order.number}/{name}" for name in urls] + [
        f"/admin/workers/process/{order.process_id}/change/"
    ]:
        html = operator.get(url).content.decode()
        assert "<script>alert" not in html, url
        assert "&lt;script&gt;alert" in html, url


def test_the_live_part_is_the_page_s_own(operator):
    order = order_in_error()
    note(order, "submitted")

    response = operator.get(f"/admin/orders/order/{order.number}/live/")

    html = response.content.decode()
    assert "<html" not in html
    assert "sas-journal" in html
    assert "Resubmit" in html
    assert "X-Server-Now" in response
    assert operator.get("/admin/orders/order/987654/live/").status_code == 404


def test_an_order_that_is_not_there_is_told(operator):
    for pk in ("987654", "abc", "9" * 30):
        response = operator.get(f"/admin/orders/order/{pk}/change/", follow=True)
        assert "doesn’t exist" in response.content.decode()


def test_a_process_page_leads_to_its_order(operator):
    order = order_in_error()
    html = operator.get(f"/admin/workers/process/{order.process_id}/change/").content.decode()
    assert f"/admin/orders/order/{order.number}/change/" in html
    assert "charge_payment" in html
