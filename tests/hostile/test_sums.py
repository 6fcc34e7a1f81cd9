"""An order worth more than its column holds: refused at every door, for it could not be read."""

from decimal import Decimal
from typing import Any

import pytest

from orders.consumer.handling import handle
from orders.consumer.message import Message
from orders.models import Order, Product
from orders.submission import LARGEST_TOTAL
from tests.hostile import corpus
from tests.hostile.test_through_the_api import refused


@pytest.fixture
def dear(acme) -> dict[str, Any]:
    Product.objects.create(sku="DEAR", name="Crown", price="99999999.99", stock=2_000_000)
    return corpus.order(lines=[{"sku": "DEAR", "quantity": 101}])


def test_the_column_holds_the_largest_total():
    field = Order._meta.get_field("total")
    assert Decimal("1E10") - Decimal("0.01") == LARGEST_TOTAL
    assert (field.max_digits, field.decimal_places) == (12, 2)


@pytest.mark.fault("F29")
def test_it_is_refused_over_http(acme, dear):
    (only,) = refused(acme.post("/orders", dear, key="k"), 422)["errors"]
    assert only["field"] == "lines"
    assert "9,999,999,999.99" in only["problem"]
    assert not Order.objects.exists()
    dear["lines"][0]["quantity"] = 100
    assert acme.post("/orders", dear, key="k").status_code == 201
    assert acme.get("/orders").json()["orders"][0]["total"] == "9999999999.00"


@pytest.mark.fault("F29")
def test_it_is_refused_by_the_queue(acme, dear):
    headers = {"client": "acme", "token": acme.token}
    letter = handle(Message(corpus.text(dear), {"message_id": "k"}, headers)).letter
    assert letter is not None
    assert letter.reasons[0]["field"] == "lines"
    assert not Order.objects.exists()
