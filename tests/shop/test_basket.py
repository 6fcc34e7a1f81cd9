"""The basket: in, out, and its bounds."""

import pytest
from django.test import Client

from orders.models import Product
from tests.factories import ProductFactory


def basket_of(client: Client) -> dict[str, int]:
    return dict(client.session.get("basket", {}))


def test_adding_puts_a_product_into_the_basket_and_shows_it(client, product):
    answer = client.post("/basket/add/", {"sku": "MUG"})

    assert answer.headers["Location"] == "/basket/"
    assert basket_of(client) == {"MUG": 1}
    text = client.get("/basket/").content.decode()
    assert "Mug is in your basket." in text
    assert 'name="quantity-MUG"' in text


def test_adding_again_adds_up(client, product):
    client.post("/basket/add/", {"sku": "MUG", "quantity": "2"})
    client.post("/basket/add/", {"sku": "MUG", "quantity": "3"})

    assert basket_of(client) == {"MUG": 5}
    assert '<span class="count">5' in client.get("/").content.decode()


def test_adding_with_htmx_answers_the_changed_part_only(client, product):
    answer = client.post("/basket/add/", {"sku": "MUG"}, headers={"HX-Request": "true"})

    text = answer.content.decode()
    assert answer.status_code == 200
    assert "1 in your basket" in text
    assert 'id="basket-count" hx-swap-oob="true"' in text
    assert "<html" not in text


def test_adding_needs_the_csrf_token(product):
    client = Client(enforce_csrf_checks=True)

    answer = client.post("/basket/add/", {"sku": "MUG"})

    assert answer.status_code == 403
    assert basket_of(client) == {}


@pytest.mark.parametrize("quantity", ["0", "-1", "100", "9" * 5000, "1.5", "NaN", "two", "\0"])
def test_a_quantity_out_of_bounds_changes_nothing(client, product, quantity):
    client.post("/basket/add/", {"sku": "MUG", "quantity": "2"})

    client.post("/basket/add/", {"sku": "MUG", "quantity": quantity})
    answer = client.post("/basket/", {"quantity-MUG": quantity})

    assert answer.status_code == 422
    assert "Enter a number from 1 to 99, or press Remove." in answer.content.decode()
    assert basket_of(client) == {"MUG": 2}


def test_more_than_ninety_nine_of_one_product_are_refused(client, product):
    client.post("/basket/add/", {"sku": "MUG", "quantity": "99"})

    client.post("/basket/add/", {"sku": "MUG"})

    assert basket_of(client) == {"MUG": 99}
    assert "You can order at most 99 of one product." in client.get("/basket/").content.decode()


def test_the_fifty_first_line_is_refused(client, db):
    for product in ProductFactory.create_batch(50):
        client.post("/basket/add/", {"sku": product.sku})
    before = basket_of(client)

    client.post("/basket/add/", {"sku": ProductFactory().sku})

    assert len(before) == 50
    assert basket_of(client) == before
    assert "at most 50 different products" in client.get("/basket/").content.decode()


@pytest.mark.parametrize("sku", ["NOPE", "OLD", "", "MUG\0", "<b>", "x" * 1000])
def test_unknown_products_are_not_found(client, product, sku):
    ProductFactory(sku="OLD", is_listed=False)

    assert client.post("/basket/add/", {"sku": sku}).status_code == 404
    assert basket_of(client) == {}


def test_a_sold_out_product_is_refused(client, db):
    ProductFactory(sku="GONE", stock=0)

    client.post("/basket/add/", {"sku": "GONE"})

    assert basket_of(client) == {}
    assert "This is sold out." in client.get("/basket/").content.decode()


def test_quantities_change_all_together_or_not_at_all(client, product):
    ProductFactory(sku="PAN")
    client.post("/basket/add/", {"sku": "MUG"})
    client.post("/basket/add/", {"sku": "PAN"})

    refused = client.post("/basket/", {"quantity-MUG": "5", "quantity-PAN": "0"})
    unchanged = basket_of(client)
    accepted = client.post("/basket/", {"quantity-MUG": "5", "quantity-PAN": "6"})

    assert refused.status_code == 422
    assert unchanged == {"MUG": 1, "PAN": 1}
    assert accepted.headers["Location"] == "/basket/"
    assert basket_of(client) == {"MUG": 5, "PAN": 6}


def test_going_to_the_checkout_takes_the_new_quantities_along(buyer):
    answer = buyer.post("/basket/", {"quantity-MUG": "7", "checkout": "1"})

    assert answer.headers["Location"] == "/checkout/"
    assert basket_of(buyer) == {"MUG": 7}


def test_removing_takes_the_product_out(buyer):
    buyer.post("/basket/remove/", {"sku": "MUG"})

    assert basket_of(buyer) == {}
    assert "There is nothing in your basket yet." in buyer.get("/basket/").content.decode()


def test_total_is_the_sum_of_all_lines(client, product):
    ProductFactory(sku="PAN", price="62.00")
    client.post("/basket/add/", {"sku": "MUG", "quantity": "3"})
    client.post("/basket/add/", {"sku": "PAN", "quantity": "2"})

    assert "€179.50" in client.get("/basket/").content.decode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stock": 0}, "This is sold out."),
        ({"stock": 1}, "Only 1 is left."),
        ({"is_listed": False}, "This is no longer sold."),
    ],
)
def test_a_line_that_cannot_be_ordered_any_more_says_why(buyer, change, words):
    Product.objects.update(**change)

    assert words in buyer.get("/basket/").content.decode()
