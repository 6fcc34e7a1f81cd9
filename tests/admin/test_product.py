"""The catalogue: stock changes by a difference, whatever orders take meanwhile."""

from django.test import Client

from orders.admin.product import ProductForm
from orders.models import Product
from tests.admin.conftest import staff
from tests.factories import OrderFactory, ProductFactory


def form(product: Product, **changes: object) -> dict[str, object]:
    columns = ("sku", "name", "description", "price", "picture")
    shown = {name: getattr(product, name) for name in columns}
    return {**shown, "is_listed": "on", "restock": "", **changes}


def save(client: Client, product: Product, **changes: object):
    return client.post(f"/admin/orders/product/{product.pk}/change/", form(product, **changes))


def test_stock_is_added_to_and_taken_from(operator):
    product = ProductFactory(stock=100)
    assert save(operator, product, restock="25").status_code == 302
    assert save(operator, product, restock="-5").status_code == 302
    product.refresh_from_db()
    assert product.stock == 120


def test_a_saved_page_keeps_what_orders_took_meanwhile(operator, monkeypatch):
    product = ProductFactory(stock=100)
    clean = ProductForm.clean_restock

    def taken_while_saving(self: ProductForm) -> int:
        Product.objects.filter(pk=product.pk).update(stock=60)
        return clean(self)

    monkeypatch.setattr(ProductForm, "clean_restock", taken_while_saving)
    save(operator, product, name="A new name", restock="1")
    product.refresh_from_db()
    assert (product.name, product.stock) == ("A new name", 61)


def test_more_than_there_is_cannot_be_taken(operator):
    product = ProductFactory(stock=3)
    response = save(operator, product, restock="-4")
    assert "There are only 3 to take away." in response.content.decode()
    product.refresh_from_db()
    assert product.stock == 3


def test_a_viewer_cannot_change_it(viewer):
    product = ProductFactory(stock=3)
    assert viewer.get("/admin/orders/product/").status_code == 200
    assert save(viewer, product, restock="4").status_code == 403


def test_a_product_that_was_sold_says_in_a_line_why_it_stays(db, monkeypatch):
    monkeypatch.setattr("orders.admin.product.COUNTED", 3)
    product = ProductFactory()
    for _ in range(5):
        OrderFactory(line__product=product)
    client = staff("ann", "delete_product")

    html = client.get(f"/admin/orders/product/{product.pk}/delete/").content.decode()

    assert f"{product}: 3+ order lines" in html
    assert html.count("order line") == 1
    client.post(f"/admin/orders/product/{product.pk}/delete/", {"post": "yes"})
    assert Product.objects.filter(pk=product.pk).exists()


def test_product_without_orders_can_be_deleted(db):
    product = ProductFactory()
    client = staff("ann", "delete_product")

    client.post(f"/admin/orders/product/{product.pk}/delete/", {"post": "yes"})

    assert not Product.objects.filter(pk=product.pk).exists()
