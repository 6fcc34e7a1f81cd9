"""Stock: the shop's own tables, so a local agent."""

from typing import Any

from django.db.models import F
from django.utils import timezone

from orders.models import Product, Reservation
from workers import Call, LocalAgent, Refused, register_agent


@register_agent
class ReserveStock(LocalAgent):
    """Take the order's lines out of stock, all or none: too few is a business answer."""

    name = "stock.reserve"

    def run(self, call: Call) -> dict[str, Any]:
        reservations = Reservation.objects.filter(order_id=call.payload["order"], released_at=None)
        if reservations.exists():
            return {"reserved": reservations.count(), "repeated": True}
        quantities = {line["sku"]: line["quantity"] for line in call.payload["lines"]}
        products = list(Product.objects.filter(sku__in=quantities).order_by("pk"))
        missing = sorted(set(quantities) - {product.sku for product in products}) or [
            product.sku for product in products if product.stock < quantities[product.sku]
        ]
        if missing:
            raise _out_of_stock(missing)
        Reservation.objects.bulk_create(
            [
                Reservation(
                    key=f"{call.key}:{product.sku}",
                    order_id=call.payload["order"],
                    product=product,
                    quantity=quantities[product.sku],
                    created_at=timezone.now(),
                )
                for product in products
            ]
        )
        # Last, because every other order of a product waits from here to the commit; in the order
        # of their keys, so that two orders of the same products do not deadlock.
        for product in products:
            quantity = quantities[product.sku]
            enough = Product.objects.filter(pk=product.pk, stock__gte=quantity)
            if not enough.update(stock=F("stock") - quantity):
                raise _out_of_stock([product.sku])
        return {"reserved": len(products)}


def _out_of_stock(skus: list[str]) -> Refused:
    return Refused("out_of_stock", f"not enough in stock: {', '.join(skus)}")


@register_agent
class ReleaseStock(LocalAgent):
    """Put an order's reservations back into stock; repeated calls put them back once."""

    name = "stock.release"

    def run(self, call: Call) -> dict[str, Any]:
        reservations = list(
            Reservation.objects.select_for_update(no_key=True)
            .filter(order_id=call.payload["order"], released_at=None)
            .order_by("product_id")
        )
        for reservation in reservations:
            reservation.released_at = timezone.now()
        Reservation.objects.bulk_update(reservations, ["released_at"])
        # As above; by the order of their products.
        for reservation in reservations:
            product = Product.objects.filter(pk=reservation.product_id)
            product.update(stock=F("stock") + reservation.quantity)
        return {"released": len(reservations)}
