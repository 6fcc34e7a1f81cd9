"""The checkout: one basket is one order, and only for the session it was made for."""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from orders.agreement import agreement
from orders.models import Order, Product
from orders.submission import SubmissionRefused
from orders.views import checkout
from tests.factories import ProductFactory
from tests.shop.conftest import address, count_rows


def test_checkout_places_an_order_and_empties_the_basket(buyer):
    answer = buyer.post("/checkout/", address())

    order = Order.objects.get()
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/orders/{order.secret}/"
    assert (order.customer_name, order.customer_email) == ("Ada Lovelace", "ada@example.org")
    assert order.customer_address == "12 St James's Square\nLondon"
    assert order.total == Decimal("37.00")
    assert order.source == "shop"
    assert order.submitter == f"shop:{buyer.session['visitor']}"
    assert [(line.sku, line.quantity) for line in order.lines.all()] == [("MUG", 2)]
    assert buyer.session["basket"] == {}


def form_of(buyer: Client, **changes: str) -> dict[str, str]:
    """Open the checkout and return its form, filled in."""
    page = buyer.get("/checkout/").content.decode()
    key = re.search(r'name="submission_key" value="([0-9a-f-]{36})"', page)
    assert key is not None
    seen = re.search(r'name="agreement" value="([0-9a-f]{64})"', page)
    assert seen is not None
    return address(submission_key=key.group(1), agreement=seen.group(1), **changes)


def test_every_form_of_a_basket_carries_its_key(buyer):
    first, second = form_of(buyer), form_of(buyer)
    assert first == second

    buyer.post("/checkout/", first)
    buyer.post("/basket/add/", {"sku": "MUG"})

    assert form_of(buyer) != first


def test_two_pages_of_one_basket_are_one_order(buyer):
    """The second is sent before the session says that the basket was ordered."""
    first, second = form_of(buyer), form_of(buyer, address="Elsewhere")
    before = dict(buyer.session.items())

    led_to = buyer.post("/checkout/", first).headers["Location"]
    session = buyer.session
    session.update(before)
    session.save()
    answer = buyer.post("/checkout/", second)

    assert answer.headers["Location"] == led_to
    assert count_rows() == (1, 1)
    # Nobody is left with a basket that cannot be ordered.
    assert buyer.session["basket"] == {}
    assert "Nothing was ordered twice." in buyer.get(led_to).content.decode()


def test_the_same_form_sent_twice_is_one_order(buyer):
    form = address()

    first = buyer.post("/checkout/", form)
    second = buyer.post("/checkout/", form)

    assert count_rows() == (1, 1)
    assert second.headers["Location"] == first.headers["Location"]
    page = buyer.get(second.headers["Location"])
    assert "Nothing was ordered twice." in page.content.decode()


def test_a_form_sent_again_after_edits_still_leads_to_the_first_order(buyer):
    form = address()
    first = buyer.post("/checkout/", form)
    buyer.post("/basket/add/", {"sku": "MUG", "quantity": "5"})

    second = buyer.post("/checkout/", form | {"name": "", "address": "Elsewhere"})

    assert second.headers["Location"] == first.headers["Location"]
    assert count_rows() == (1, 1)
    assert Order.objects.get().customer_address == "12 St James's Square\nLondon"
    assert buyer.session["basket"] == {"MUG": 5}


def test_a_twin_that_lost_the_race_leads_to_the_first_order_and_keeps_the_basket(
    buyer, monkeypatch
):
    """The first look saw nothing, and the other request committed in between."""
    form = address()
    first = buyer.post("/checkout/", form)
    buyer.post("/basket/add/", {"sku": "MUG", "quantity": "2"})
    monkeypatch.setattr(checkout, "first_order", lambda *args: None)

    same = buyer.post("/checkout/", form)
    other = buyer.post("/checkout/", form | {"address": "Elsewhere"})

    assert same.headers["Location"] == other.headers["Location"] == first.headers["Location"]
    assert count_rows() == (1, 1)
    assert buyer.session["basket"] == {"MUG": 2}


def test_copied_submission_key_does_not_lead_to_another_visitors_order(buyer):
    form = address()
    theirs = buyer.post("/checkout/", form).headers["Location"]
    stranger = Client()

    with_empty_basket = stranger.post("/checkout/", form)
    stranger.post("/basket/add/", {"sku": "MUG", "quantity": "2"})
    with_basket = stranger.post("/checkout/", form)

    assert with_empty_basket.headers["Location"] == "/basket/"
    assert with_basket.headers["Location"] != theirs
    assert [order.submission_key for order in Order.objects.all()] == [form["submission_key"]] * 2
    assert Order.objects.values("submitter").distinct().count() == 2


@pytest.mark.parametrize(
    "key", ["", "x", "\0", "1" * 500, "{}", "d46a6736-44db-46fe-90ee-16e10ff1b0f"]
)
def test_a_damaged_key_is_refused_and_replaced(buyer, key):
    answer = buyer.post("/checkout/", address(submission_key=key))

    text = answer.content.decode()
    assert answer.status_code == 422
    assert "This form was damaged on its way." in text
    assert re.search(r'name="submission_key" value="[0-9a-f-]{36}"', text)
    assert 'value="Ada Lovelace"' in text
    assert count_rows() == (0, 0)
    assert buyer.session["basket"] == {"MUG": 2}


def test_an_empty_basket_has_no_checkout(client, db):
    assert client.get("/checkout/").headers["Location"] == "/basket/"
    assert client.post("/checkout/", address()).headers["Location"] == "/basket/"
    assert count_rows() == (0, 0)


def test_missing_fields_are_named_beside_them(buyer):
    form = address(name="", email="nonsense", address=" \n ")

    answer = buyer.post("/checkout/", form)

    text = answer.content.decode()
    assert answer.status_code == 422
    assert re.search(r'id="id_name_error"><li>Please enter your name\.', text)
    assert re.search(r'id="id_email_error"><li>Enter a valid email address\.', text)
    assert re.search(r'id="id_address_error"><li>Please enter the delivery address\.', text)
    assert 'href="#id_name"' in text
    assert f'value="{form["submission_key"]}"' in text
    assert count_rows() == (0, 0)


def test_a_sold_out_line_is_refused_beside_it(buyer):
    Product.objects.update(stock=1)

    answer = buyer.post("/checkout/", address())

    assert answer.status_code == 422
    assert '<p class="problem">Only 1 is left.</p>' in answer.content.decode()
    assert count_rows() == (0, 0)
    assert Product.objects.get().stock == 1
    assert buyer.session["basket"] == {"MUG": 2}


def test_refusals_of_the_submission_stand_beside_what_they_are_about(buyer, monkeypatch):
    ProductFactory(sku="PAN", name="Pan")
    buyer.post("/basket/add/", {"sku": "PAN"})

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise SubmissionRefused(
            {
                "lines.1.quantity": "Only 0 of Pan are left.",
                "customer.email": "No such domain.",
                "reference": "Too <b>long</b>.",
            }
        )

    monkeypatch.setattr(checkout, "place_order", refuse)

    answer = buyer.post("/checkout/", address())

    text = answer.content.decode()
    assert answer.status_code == 422
    assert re.search(r"× Pan</span>.*?Only 0 of Pan are left", text, re.DOTALL)
    assert re.search(r'id="id_email_error"><li>No such domain\.', text)
    assert "Too &lt;b&gt;long&lt;/b&gt;." in text
    assert buyer.session["basket"] == {"MUG": 2, "PAN": 1}


def test_a_price_that_changed_since_the_page_was_made_is_not_agreed_to(buyer):
    Product.objects.update(price="20.00")

    answer = buyer.post("/checkout/", address())

    text = answer.content.decode()
    assert answer.status_code == 422
    assert "Please check the new total." in text
    assert f'name="agreement" value="{agreement([("MUG", 2, Decimal("20.00"))])}"' in text
    assert "40.00" in text
    assert count_rows() == (0, 0)


def test_a_price_that_changes_after_the_page_was_checked_is_not_agreed_to(buyer, monkeypatch):
    real = checkout.place_order

    def place(*args: Any, **more: Any) -> Any:
        Product.objects.update(price="20.00")
        return real(*args, **more)

    monkeypatch.setattr(checkout, "place_order", place)

    answer = buyer.post("/checkout/", address())

    text = answer.content.decode()
    assert answer.status_code == 422
    assert "Please check the new total." in text
    # The page shows the new total, and asks for agreement to that.
    assert "40.00" in text
    again = re.search(r'name="agreement" value="(\w+)"', text)
    assert again is not None
    assert count_rows() == (0, 0)
    assert buyer.post("/checkout/", address(agreement=again[1])).status_code == 302
    assert Order.objects.get().total == Decimal("40.00")


def test_another_product_of_the_same_price_is_not_agreed_to(buyer):
    ProductFactory(sku="CUP", name="Cup", price="18.50", stock=100)
    form = form_of(buyer)
    buyer.post("/basket/remove/", {"sku": "MUG"})
    buyer.post("/basket/add/", {"sku": "CUP", "quantity": "2"})

    answer = buyer.post("/checkout/", form)

    assert answer.status_code == 422
    assert "Please check the new total." in answer.content.decode()
    assert count_rows() == (0, 0)


@pytest.mark.parametrize("sent", [None, "", "37.00", "\0", "0" * 63])
def test_who_agrees_to_nothing_orders_nothing(buyer, sent):
    Product.objects.update(price="185.00")
    form = address(agreement=sent or "")
    if sent is None:
        del form["agreement"]

    answer = buyer.post("/checkout/", form)

    text = answer.content.decode()
    assert answer.status_code == 422
    assert "This form was damaged on its way." in text
    assert f'name="agreement" value="{agreement([("MUG", 2, Decimal("185.00"))])}"' in text
    assert count_rows() == (0, 0)


def test_what_the_buyer_agreed_to_is_kept_while_other_fields_are_corrected(buyer):
    seen = address()["agreement"]
    Product.objects.update(price="20.00")

    answer = buyer.post("/checkout/", address(name=""))

    assert f'name="agreement" value="{seen}"' in answer.content.decode()


def test_checkout_needs_the_csrf_token(product):
    client = Client(enforce_csrf_checks=True)

    assert client.post("/checkout/", address()).status_code == 403
    assert count_rows() == (0, 0)
