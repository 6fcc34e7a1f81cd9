"""One order as a JSON object, for programs and for operators' tools."""

from typing import Any

from orders.models import Order
from workers.admin import panel
from workers.management import process_report


def facts(order: Order) -> dict[str, Any]:
    """Return an order with its steps and its whole journal."""
    return {
        "number": order.number,
        "id": str(order.public_id),
        **process_report.facts(panel.read(order.process_id)),
        "created_at": order.created_at.isoformat(),
        "total": str(order.total),
        "customer": {"name": order.customer_name, "email": order.customer_email},
    }
