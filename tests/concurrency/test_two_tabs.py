"""One basket in two tabs, sent in the same moment, is one order."""

import re
import threading
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from orders.models import Order, Product
from orders.views import checkout
from tests.concurrency.racing import race
from workers.supervisor import beat_schedule

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def shop(transactional_db) -> None:
    beat_schedule.ensure()
    Product.objects.create(sku="MUG", name="Mug", price="18.50", stock=100)


@pytest.fixture
def _both_look_first(monkeypatch) -> None:
    """Have both find that nothing was ordered, with the basket in both their sessions."""
    real, both = checkout.first_order, threading.Barrier(2)

    def look(*args: Any) -> Any:
        found = real(*args)
        both.wait(10)
        return found

    monkeypatch.setattr(checkout, "first_order", look)


def tab(cookie: str) -> tuple[Client, dict[str, str]]:
    """Open the checkout in a tab of its own; return it and its form."""
    browser = Client()
    browser.cookies[settings.SESSION_COOKIE_NAME] = cookie
    page = browser.get("/checkout/").content.decode()
    form = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
    return browser, form | {"name": "Ada", "email": "ada@example.org", "address": "1 Mill Lane"}


@pytest.mark.usefixtures("_both_look_first")
@pytest.mark.parametrize("place", ["1 Mill Lane", "Elsewhere"])
def test_two_tabs_sent_at_once_are_one_order(client, place):
    client.post("/basket/add/", {"sku": "MUG", "quantity": "2"})
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    (one, first), (other, second) = tab(cookie), tab(cookie)

    answers = race(
        [
            lambda: one.post("/checkout/", first),
            lambda: other.post("/checkout/", second | {"address": place}),
        ]
    )

    order = Order.objects.get()
    assert [answer.headers["Location"] for answer in answers] == [f"/orders/{order.secret}/"] * 2
    assert client.session["basket"] == {}
