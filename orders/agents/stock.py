"""Stock: the shop's own tables, so a local agent."""

from django.utils import timezone

from orders.models import Product, Reservation
from workers.agent import Call, LocalAgent
from workers.exceptions import Permanent
from workers.registry import register_agent


@register_agent
class ReserveStock(LocalAgent):
    """Take the order's lines out of stock.  Out of stock is final, and takes nothing."""

    name = "stock.reserve"

    def run(self, call: Call) -> dict:
        taken = Reservation.objects.filter(order_id=call.payload["order"], released_at=None)
        if taken.exists():
            return {"reserved": taken.count(), "repeated": True}
        wanted = {line["sku"]: line["quantity"] for line in call.payload["lines"]}
        # Locked in one order by everybody: two orders of the same products do not deadlock.
        products = list(Product.objects.select_for_update().filter(sku__in=wanted).order_by("pk"))
        missing = sorted(set(wanted) - {product.sku for product in products}) or [
            product.sku for product in products if product.stock < wanted[product.sku]
        ]
        if missing:
            raise Permanent("out_of_stock", f"not enough in stock: {', '.join(missing)}")
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
