"""The list of orders: its columns, what they cost, and its live rows."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.admin.conftest import alert_about, order_in_error, order_with

URL = "/admin/orders/order/"


def page(client: Client, query: str = "", **headers: str) -> str:
    response = client.get(URL + query, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_a_row_joins_the_order_with_its_process(operator):
    started = timezone.now()
    order = order_with(
        customer="Grace Hopper",
        reserve_stock="processed",
        charge_payment={"started": True, "failure_count": 2, "attempt": 3, "started_at": started},
    )
    alert_about(order)

    html = page(operator)

    due = (started + timedelta(seconds=30)).isoformat()
    for told in (
        f"/admin/orders/order/{order.number}/change/",
        "G***",
        "37.00",
        "charge_payment",
        "payment.charge",
        "2 of 3",
        "attempt 3",
        "worker@<wbr>test",
        f'datetime="{due}"',
        "1 alert",
        "Shop",
    ):
        assert told in html, told
    assert '<svg class="sas-icon"' in html
    assert "</svg> processing</span>" in html


def test_a_parked_step_counts_down_to_its_next_attempt(operator):
    later = timezone.now() + timedelta(seconds=90)
    fault = {"kind": "unavailable", "code": "refused", "message": "nobody there"}
    order_with(charge_payment={"pending": True, "not_before": later, "fault": fault})

    html = page(operator)

    assert "again in 1 min" in html
    assert "unavailable: refused: nobody there" in html


def test_many_orders_cost_as_many_queries_as_few(operator):
    def count(headers: dict[str, str]) -> int:
        with CaptureQueriesContext(connection) as queries:
            page(operator, **headers)
        return len(queries)

    for _ in range(3):
        order_in_error()
    # The first page of a session remembers the user's time zone.
    page(operator)
    few, few_polled = count({}), count({"HX-Request": "true"})
    for _ in range(47):
        alert_about(order_in_error(), message=f"alert {_}")

    assert count({}) == few <= 25
    assert count({"HX-Request": "true"}) == few_polled <= 15


def test_a_poll_is_answered_with_the_rows_and_the_clock_alone(operator):
    order_with(customer="Ada")

    response = operator.get(URL, headers={"HX-Request": "true"})

    html = response.content.decode()
    assert 'id="result_list"' in html
    assert "A***" in html
    assert "changelist-filter" not in html
    assert "<html" not in html
    assert response["X-Server-Now"].endswith("+00:00")


def test_the_page_has_no_inline_script_or_style(operator):
    order_in_error()
    html = page(operator)
    assert "<style" not in html
    assert " style=" not in html
    assert " onclick" not in html
    assert all("src=" in tag for tag in html.split("<script")[1:])


NEWEST_FIRST, OLDEST_FIRST = [3, 2, 1], [1, 2, 3]


@pytest.mark.parametrize(
    ("order_by", "shown"),
    [
        # Total.
        ("3", [2, 3, 1]),
        ("-3", [1, 3, 2]),
        # Age.
        ("9", NEWEST_FIRST),
        ("-9", OLDEST_FIRST),
        # Columns without an index, and none at all: as if nothing had been asked.
        ("1", NEWEST_FIRST),
        ("-1", NEWEST_FIRST),
        ("2", NEWEST_FIRST),
        ("-4", NEWEST_FIRST),
        ("77", NEWEST_FIRST),
    ],
)
def test_a_list_is_sorted_by_what_has_an_index(operator, order_by, shown):
    orders = [order_with(customer=name) for name in ("Ben", "Cem", "Ada")]
    for order, total in zip(orders, (90, 20, 50), strict=True):
        order.total = total
        order.save()

    rows = operator.get(f"{URL}?o={order_by}").context["cl"].result_list

    assert [orders.index(row) + 1 for row in rows] == shown


def test_markup_in_names_and_faults_stays_text(operator):
    order_with(
        "error",
        customer="<script>alert(1)</script>",
        charge_payment={
            "error": True,
            "fault": {"kind": "transient", "code": "x", "message": "<img src=x onerror=y>"},
        },
    )

    html = page(operator)

    assert "<script>alert(1)" not in html
    assert "&lt;***" in html
    assert "<img src=x" not in html
    assert "&lt;img src=x" in html
