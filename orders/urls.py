"""The shop's public addresses."""

from django.urls import path, register_converter

from orders.views import asking, basket, catalogue, checkout, my_orders, order, pages

app_name = "orders"


class SkuConverter:
    """A SKU in an address: any characters that the database accepts."""

    regex = r"[^/\x00-\x1f\x7f]{1,40}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(SkuConverter, "sku")

urlpatterns = [
    path("", catalogue.index, name="catalogue"),
    path("products/<sku:sku>/", catalogue.product, name="product"),
    path("basket/", basket.show, name="basket"),
    path("basket/add/", basket.add, name="basket_add"),
    path("basket/remove/", basket.remove, name="basket_remove"),
    path("checkout/", checkout.checkout, name="checkout"),
    # The alphabet of new_secret(): anything else needs no query.
    path("orders/<slug:secret>/", order.show, name="order"),
    path("orders/<slug:secret>/progress/", order.progress, name="order_progress"),
    path("orders/<slug:secret>/cancel/", asking.cancel, name="order_cancel"),
    path("orders/<slug:secret>/return/", asking.send_back, name="order_return"),
    path("my-orders/", my_orders.show, name="my_orders"),
    path("favicon.ico", pages.icon),
]
