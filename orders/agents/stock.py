"""Stock: the shop's own tables, so a local agent."""

from typing import Any

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
        # Locked in the order of their keys, so that two orders of the same products do not
        # deadlock; without locking the keys, so that placing an order does not wait.
        products = list(
            Product.objects.select_for_update(no_key=True).filter(sku__in=quantities).order_by("pk")
        )
        missing = sorted(set(quantities) - {product.sku for product in products}) or [
            product.sku for product in products if product.stock < quantities[product.sku]
        ]
        if missing:
            raise Refused("out_of_stock", f"not enough in stock: {', '.join(missing)}")
        for product in products:
            product.stock -= quantities[product.sku]
        Product.objects.bulk_update(products, ["stock"])
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
        return {"reserved": len(products)}


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
        quantities = {reservation.product_id: reservation.quantity for reservation in reservations}
        products = list(
            Product.objects.select_for_update(no_key=True).filter(pk__in=quantities).order_by("pk")
        )
        for product in products:
            product.stock += quantities[product.pk]
        Product.objects.bulk_update(products, ["stock"])
        for reservation in reservations:
            reservation.released_at = timezone.now()
        Reservation.objects.bulk_update(reservations, ["released_at"])
        return {"released": len(reservations)}
