"""Searching orders by whatever people have at hand."""

import pytest
from django.test import Client

from orders.models import Order
from tests.admin.conftest import order_with
from tests.factories import OrderFactory

URL = "/admin/orders/order/"


@pytest.fixture
def wanted(db) -> Order:
    # Keys of their own: one made at random may begin with the number that is looked for.
    other = {"customer_email": "else@example.net", "submission_key": "somebody-else"}
    OrderFactory(customer_name="Somebody Else", **other)
    order = order_with(customer="Ada King Lovelace")
    order.customer_email = "ada.lovelace@example.org"
    order.reference = "PO-7781"
    order.save()
    order.process.submission_key = "web-2026-abc-0001 shop:ada"
    order.process.save()
    return order


def found(client: Client, term: str) -> set[int]:
    response = client.get(URL, {"q": term})
    assert response.status_code == 200
    return {order.number for order in response.context["cl"].result_list}


def test_each_kind_of_term_finds_the_order(operator, wanted):
    uid = wanted.process.uid
    terms = [
        str(wanted.number),
        f"#{wanted.number}",
        f"Order {wanted.number}",
        "ADA KING LOVELACE",
        "ada.lovelace@example.org",
        "ada king lovelace",
        "ADA.LOVELACE@example.org",
        "PO-7781",
        "po-77",
        "web-2026-abc-0001",
        "web-2026-abc-0001 shop:ada",
        f"{uid.hex}:1:1",
        f"{uid.hex}:1",
        uid.hex[:12],
        uid.hex[:8].upper(),
        str(uid),
        str(wanted.public_id),
        f"  {wanted.number}  ",
    ]
    for term in terms:
        assert found(operator, term) == {wanted.number}, term


@pytest.mark.parametrize(
    "term",
    [
        "nobody",
        "%",
        "_",
        "999999999999",
        "9" * 60,
        "'; DROP TABLE x; --",
        "deadbeef",
        "\\",
        "🦊",
        "[a-z",
        # A part of what is masked, for who may not see it.
        "ada",
        "Ada King",
        "Ada.Lovelace@",
        "lovelace",
        "@example.org",
    ],
)
def test_a_term_that_fits_nothing_finds_nothing(operator, wanted, term):
    assert found(operator, term) == set()


def test_a_whole_key_of_another_step_is_not_enough(operator, wanted):
    assert found(operator, f"{wanted.process.uid.hex}:9:1") == set()


def test_a_zero_byte_is_refused_politely(operator, wanted):
    response = operator.get(URL, {"q": "a\x00b"})
    assert response.status_code == 200


def test_an_empty_term_shows_everything(operator, wanted):
    assert len(found(operator, "   ")) == 2


@pytest.mark.parametrize(
    "term", ["François Ünal", "FRANÇOIS ÜNAL", "françois ünal", "Franc\u0327ois Ünal"]
)
def test_a_name_is_found_however_it_is_written(operator, wanted, term):
    order = OrderFactory(customer_name="Fran\u00e7ois \u00dcnal", submission_key="other")

    assert found(operator, term) == {order.number}
