"""Stock: the shop's own tables, so a local agent."""

from typing import Any

from django.utils import timezone

from orders.models import Product, Reservation
from workers import Call, LocalAgent, Refused, register_agent


@register_agent
class ReserveStock(LocalAgent):
    """Take the order's lines out of stock.  Too few is a business answer, and takes none."""

    name = "stock.reserve"

    def run(self, call: Call) -> dict[str, Any]:
        taken = Reservation.objects.filter(order_id=call.payload["order"], released_at=None)
        if taken.exists():
            return {"reserved": taken.count(), "repeated": True}
        wanted = {line["sku"]: line["quantity"] for line in call.payload["lines"]}
        # Locked in one order by everybody, so that two orders of the same products do not
        # deadlock; no key is changed, so nobody who places an order waits.
        products = list(
            Product.objects.select_for_update(no_key=True).filter(sku__in=wanted).order_by("pk")
        )
        missing = sorted(set(wanted) - {product.sku for product in products}) or [
            product.sku for product in products if product.stock < wanted[product.sku]
        ]
        if missing:
            raise Refused("out_of_stock", f"not enough in stock: {', '.join(missing)}")
        for product in products:
            product.stock -= wanted[product.sku]
        Product.objects.bulk_update(products, ["stock"])
        Reservation.objects.bulk_create(
            [
                Reservation(
                    key=f"{call.key}:{product.sku}",
                    order_id=call.payload["order"],
                    product=product,
                    quantity=wanted[product.sku],
                    created_at=timezone.now(),
                )
                for product in products
            ]
        )
        return {"reserved": len(products)}


@register_agent
class ReleaseStock(LocalAgent):
    """Put back what an order had taken out of stock; once, however often it is asked."""

    name = "stock.release"

    def run(self, call: Call) -> dict[str, Any]:
        taken = list(
            Reservation.objects.select_for_update(no_key=True)
            .filter(order_id=call.payload["order"], released_at=None)
            .order_by("product_id")
        )
        quantities = {reservation.product_id: reservation.quantity for reservation in taken}
        products = list(
            Product.objects.select_for_update(no_key=True).filter(pk__in=quantities).order_by("pk")
        )
        for product in products:
            product.stock += quantities[product.pk]
        Product.objects.bulk_update(products, ["stock"])
        for reservation in taken:
            reservation.released_at = timezone.now()
        Reservation.objects.bulk_update(taken, ["released_at"])
        return {"released": len(taken)}
