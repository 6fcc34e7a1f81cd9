"""The catalogue and the page of one product."""

from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from orders.demo_data import PRODUCTS
from tests.factories import ProductFactory


def test_catalogue_shows_listed_products_with_name_price_and_picture(client):
    ProductFactory(sku="KETTLE", name="Kettle", price="54.00", picture="enamel-kettle.svg")
    ProductFactory(sku="OLD", name="Retired thing", is_listed=False)

    page = client.get("/")

    assert page.status_code == 200
    text = page.content.decode()
    assert "Kettle" in text
    assert "€54.00" in text
    assert 'src="/static/orders/products/enamel-kettle.svg"' in text
    assert "Retired thing" not in text


def test_catalogue_takes_one_query_however_many_products_there_are(
    client, django_assert_num_queries
):
    ProductFactory.create_batch(12)

    with django_assert_num_queries(1):
        client.get("/")


def test_catalogue_without_products_says_so(client):
    page = client.get("/")

    assert "There is nothing on the shelves yet." in page.content.decode()


@pytest.mark.parametrize("is_demonstration", [True, False])
def test_only_a_demonstration_says_that_no_money_moves(client, settings, is_demonstration):
    settings.DEMO_LOGINS = is_demonstration

    assert (b"no money moves" in client.get("/").content) is is_demonstration


def test_sold_out_product_cannot_be_added(client):
    ProductFactory(sku="GONE", stock=0)

    text = client.get("/").content.decode()

    assert "Sold out" in text
    assert " disabled>" in text


def test_product_page_shows_the_description_with_markup_escaped(client):
    ProductFactory(sku="KETTLE", name="Kettle", description="Red <script>alert(1)</script>")

    text = client.get("/products/KETTLE/").content.decode()

    assert "Red &lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert" not in text


@pytest.mark.parametrize("sku", ["NOPE", "OLD", "%00", "a%0Ab", "x" * 41])
def test_unknown_unlisted_and_impossible_skus_are_not_found(client, sku):
    ProductFactory(sku="OLD", is_listed=False)

    assert client.get(f"/products/{sku}/").status_code == 404


def test_no_page_carries_inline_script_or_style(client):
    ProductFactory(sku="MUG")
    client.post("/basket/add/", {"sku": "MUG"})

    for path in ("/", "/products/MUG/", "/basket/", "/checkout/", "/my-orders/"):
        text = client.get(path).content.decode()
        assert " style=" not in text, path
        assert "<style" not in text, path
        assert "<script>" not in text, path
        assert " onclick=" not in text, path


def test_every_demo_product_has_a_picture_of_less_than_three_kilobytes():
    pictures = {picture for _, _, picture, _ in PRODUCTS}

    assert len(pictures) == 12
    for picture in pictures:
        found = finders.find(f"orders/products/{picture}")
        assert found, picture
        assert Path(found).stat().st_size < 3000, picture
