"""Whatever buyers and staff write is shown as they wrote it, on every page of the shop."""

from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from orders.models import Order, Product
from tests.admin.hostile import ATTACK, Reader, evil, fill_shop
from tests.shop.conftest import address
from workers.models import Process

pytestmark = pytest.mark.fault("F31")


def read(answer: Any) -> str:
    page = Reader(answer.content.decode(), is_admin=False)
    assert page.wrong == []
    return page.text


@pytest.fixture
def order(db) -> Order:
    fill_shop()
    Product.objects.exclude(sku=evil("k")).update(is_listed=False)
    return Order.objects.get()


@pytest.fixture
def visitor(order) -> Client:
    """A visitor with the hostile product in the basket, and the hostile order made."""
    client = Client()
    client.post("/basket/add/", {"sku": evil("k"), "quantity": "2"})
    client.get("/checkout/")
    Order.objects.update(submitter=f"shop:{client.session['visitor']}")
    return client


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/", ("product",)),
        (f"/products/{quote(evil('k'))}/", ("product", "description")),
        ("/basket/", ("product",)),
        ("/checkout/", ("product",)),
    ],
)
def test_products_are_shown_as_text(visitor, path, names):
    answer = visitor.get(path)
    assert answer.status_code == 200
    text = read(answer)
    assert [name for name in names if evil(name) not in text] == []


def test_an_order_is_shown_as_text(visitor, order):
    for path in (order.get_absolute_url(), f"{order.get_absolute_url()}progress/"):
        answer = visitor.get(path)
        assert answer.status_code in (200, 286)
        read(answer)
    text = read(visitor.get(order.get_absolute_url()))
    for name in ("customer", "street", "town", "line"):
        assert evil(name) in text
    assert evil("fault") not in text  # what a service said is not for buyers


def test_what_was_typed_comes_back_as_text(visitor):
    form = address(name=evil("typed"), email=evil("mail"), address=evil("road"))
    answer = visitor.post("/checkout/", form)
    assert answer.status_code == 422
    text = read(answer)
    for name in ("typed", "mail", "road"):
        assert evil(name) in text

    asked = visitor.post("/my-orders/", {"email": evil("mail")})
    assert asked.status_code == 422
    assert evil("mail") in read(asked)


def test_what_is_told_is_text(visitor):
    told = visitor.post("/basket/add/", {"sku": evil("k"), "quantity": "1"}, follow=True)
    assert f"{evil('product')} is in your basket." in read(told)
    part = visitor.post(
        "/basket/add/", {"sku": evil("k"), "quantity": "x"}, headers={"HX-Request": "true"}
    )
    read(part)


def test_an_address_that_is_nothing_s_is_text(visitor):
    for path in (
        f"/{quote(ATTACK)}/",
        f"/products/{quote(ATTACK)[:30]}/",
        f"/orders/{quote(ATTACK)}/",
    ):
        answer = visitor.get(path)
        assert answer.status_code == 404
        read(answer)


def test_an_order_in_another_state_is_text_too(visitor, order):
    Process.objects.filter(pk=order.process_id).update(state="processing")
    assert evil("customer") in read(visitor.get(order.get_absolute_url()))
    assert read(visitor.get("/my-orders/")).count(f"Order {order.number}") == 1
