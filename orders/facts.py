"""One order as a JSON object, for programs and for operators' tools."""

from collections.abc import Iterable
from typing import Any

from orders.models import Order
from orders.money import money_of
from orders.return_progress import ReturnLine
from workers.desk.admin.masking import UNMASKED, masked
from workers.desk.admin.panel import Panel
from workers.desk.management import process_report


def customer(order: Order, panel: Panel) -> dict[str, str]:
    """Return an order's customer, masked unless the process is shown unmasked."""
    names = {"name": order.customer_name, "email": order.customer_email}
    if panel.mask is UNMASKED:
        return names
    return {name: masked(text) for name, text in names.items()}


def facts(order: Order, panel: Panel, returns: Iterable[ReturnLine]) -> dict[str, Any]:
    """Return an order with its steps, its whole journal and its returns."""
    return {
        "number": order.number,
        "id": str(order.public_id),
        **process_report.facts(panel),
        "created_at": order.created_at.isoformat(),
        "total": str(order.total),
        "money": money_of(order).facts,
        "customer": customer(order, panel),
        "returns": [line.facts for line in returns],
    }
