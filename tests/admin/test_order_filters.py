"""The filters of the list of orders, all in the address, and their counts."""

from datetime import timedelta

import pytest
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from orders.models import Order
from tests.admin.conftest import alert_about, note, order_in_error, order_with

URL = "/admin/orders/order/"
NOW = timezone.now()


@pytest.fixture
def orders(db) -> dict[str, Order]:
    made = {
        "calm": order_with(charge_payment="started"),
        "error": order_in_error(),
        "alerted": order_with("processed"),
        "noted": order_with("processed"),
        "expired": order_with(book_shipment="pending"),
        "recovered": order_with("processed"),
        "once": order_with(charge_payment="pending"),
    }
    alert_about(made["alerted"], message="open")
    alert_about(made["noted"], message="closed", acknowledged_at=timezone.now())
    for name, times in (("expired", 2), ("recovered", 2), ("once", 1)):
        for _ in range(times):
            note(made[name], "expired")
    Order.objects.filter(pk=made["calm"].pk).update(
        source="queue", created_at=timezone.now() - timedelta(days=400)
    )
    return made


def found(client: Client, query: str) -> set[int]:
    response = client.get(URL + query)
    assert response.status_code == 200
    return {order.number for order in response.context["cl"].result_list}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?needs=someone", {"error", "alerted", "expired"}),
        ("?needs=error", {"error"}),
        ("?needs=alert", {"alerted"}),
        ("?needs=expired", {"expired"}),
        ("?state=processed", {"alerted", "noted", "recovered"}),
        ("?state=error", {"error"}),
        ("?step=charge_payment", {"calm", "error", "once"}),
        ("?step=book_shipment", {"expired"}),
        ("?agent=payment.charge", {"error"}),
        ("?source__exact=queue", {"calm"}),
        ("?step=charge_payment&needs=someone", {"error"}),
        ("?step=charge_payment&agent=payment.charge", {"error"}),
        ("?needs=someone&state=processed", {"alerted"}),
    ],
)
def test_a_filter_shows_its_orders(operator, orders, query, names):
    assert found(operator, query) == {orders[name].number for name in names}


def test_the_step_that_an_order_was_undone_for_is_not_its_current_step(operator, orders):
    process = orders["error"].process
    process.state, process.outcome, process.finished_at = "compensated", "compensated", NOW
    process.save()

    for query in ("?step=charge_payment", "?agent=payment.charge", "?fault=http_500"):
        for more in ("", "&needs=someone"):
            assert orders["error"].number not in found(operator, query + more)


def test_created_at_filters_by_day(operator, orders):
    today = timezone.now().strftime("%Y-%m-%d 00:00:00+00:00").replace("+", "%2B")
    shown = found(operator, f"?created_at__gte={today}")
    assert shown == {order.number for name, order in orders.items() if name != "calm"}


def test_every_filter_counts_its_orders(operator, orders):
    html = operator.get(URL).content.decode()
    for counted in ("Someone is needed (3)", "In error (1)", "processed (3)", "Queue (1)"):
        assert counted in html


def test_with_very_many_orders_there_are_no_counts(operator, orders, monkeypatch):
    monkeypatch.setattr("workers.desk.admin.lists.FACET_ROWS", 1)
    html = operator.get(URL).content.decode()
    assert "Show counts" not in html
    assert "In error (1)" not in html
    assert "In error (1)" not in operator.get(URL + "?_facets=True").content.decode()


def test_very_many_orders_are_counted_up_to_a_bound_and_every_page_is_answered(
    operator, monkeypatch
):
    made = [order_with("processed") for _ in range(7)]
    monkeypatch.setattr("workers.desk.admin.paging.COUNTED", 4)
    monkeypatch.setattr("orders.admin.order.OrderAdmin.list_per_page", 2)

    html = operator.get(URL).content.decode()
    assert html.count("4+ orders") == 2
    assert "Select all 4+ orders" in html
    assert "4+ selected" in html
    # One behind the bound is not linked, and answered.
    assert found(operator, "?p=4") == {made[0].number}
    assert found(operator, "?p=9") == set()

    monkeypatch.setattr("workers.desk.admin.paging.COUNTED", 7)
    assert "Select all 7 orders" in operator.get(URL).content.decode()
    assert operator.get(URL + "?p=9").status_code == 302


def test_a_poll_asks_for_no_choices_of_filters(operator, orders, monkeypatch):
    def asked(request: HttpRequest) -> dict[str, set[str]]:
        raise AssertionError(f"a poll shows no filter, and {request.path} asked for choices")

    monkeypatch.setattr("workers.desk.admin.filters._choices", asked)
    response = operator.get(URL + "?step=charge_payment", headers={"HX-Request": "true"})
    assert response.status_code == 200


def test_a_filter_whose_last_order_moved_on_shows_none(operator, orders):
    assert found(operator, "?agent=nobody.here") == set()
    assert found(operator, "?step=nothing") == set()
    assert found(operator, "?needs=rubbish") == set()
