"""The fields by which all lines of an order are found, whichever process writes them."""

from typing import Any

from structlog.contextvars import bind_contextvars

from orders.models import Order
from workers.models import Process


def of(order: Order) -> dict[str, Any]:
    """Return an order's number, and its trace, which its services are told, too."""
    uids = Process.objects.filter(pk=order.process_id).values_list("uid", flat=True)
    is_read = Order.process.is_cached(order)
    return {"order": order.number, "trace": (order.process.uid if is_read else uids.get()).hex}


def bind(order: Order) -> None:
    """Have each line of this request say which order it is about."""
    bind_contextvars(**of(order))
