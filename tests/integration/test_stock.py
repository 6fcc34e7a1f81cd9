"""Stock is taken by the last statement, so that orders of one product hardly wait for another."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.models import Product, Reservation
from orders.submission import Customer, Line, place_order
from workers.definitions import registry
from workers.definitions.agent import Call, Deadline
from workers.exceptions import Refused
from workers.runtime.failpoints import durable


def test_the_rows_of_products_are_held_from_the_last_statement_only():
    """Every other order of a product waits from there to the commit."""
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)
    customer = Customer("Ann", "ann@example.org", "Street 1")
    order, _ = place_order(customer, [Line("SKU-1", 2)], submission_key="k", source="shop")
    payload: dict[str, Any] = {"order": order.number, "lines": [{"sku": "SKU-1", "quantity": 2}]}
    call = Call("Order", "reserve_stock", "key", 1, payload, Deadline(30))

    for agent, stock in (("stock.reserve", 8), ("stock.release", 10)):
        with durable("runner.perform_local"), CaptureQueriesContext(connection) as queries:
            registry.agent(agent).run(call)
        *before, last = [query["sql"] for query in queries]
        assert last.startswith('UPDATE "orders_product" SET "stock"')
        assert not [sql for sql in before if "orders_product" in sql and "FOR NO KEY" in sql]
        assert Product.objects.get().stock == stock


def test_what_another_order_took_meanwhile_is_out_of_stock(monkeypatch):
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=2)
    customer = Customer("Ann", "ann@example.org", "Street 1")
    order, _ = place_order(customer, [Line("SKU-1", 2)], submission_key="k", source="shop")
    payload: dict[str, Any] = {"order": order.number, "lines": [{"sku": "SKU-1", "quantity": 2}]}
    call = Call("Order", "reserve_stock", "key", 1, payload, Deadline(30))
    create = Reservation.objects.bulk_create

    def taken_meanwhile(rows: Any) -> Any:
        Product.objects.update(stock=1)
        return create(rows)

    monkeypatch.setattr(Reservation.objects, "bulk_create", taken_meanwhile)

    with (
        pytest.raises(Refused, match="not enough in stock: SKU-1"),
        durable("runner.perform_local"),
    ):
        registry.agent("stock.reserve").run(call)

    assert (Product.objects.get().stock, Reservation.objects.count()) == (2, 0)
