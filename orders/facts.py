"""One order as a JSON object, for programs and for operators' tools."""

from typing import Any

from orders.models import Order
from workers.admin import panel
from workers.models import Journal


def facts(order: Order) -> dict[str, Any]:
    """Return an order with its steps and its whole journal."""
    shown = panel.read(order.process_id)
    return {
        "number": order.number,
        "id": str(order.public_id),
        "state": shown.process.state,
        "headline": shown.headline,
        "sequence": shown.process.sequence,
        "created_at": order.created_at.isoformat(),
        "total": str(order.total),
        "customer": {"name": order.customer_name, "email": order.customer_email},
        "steps": [
            {
                "name": line.step.name,
                "state": line.step.state,
                "agent": line.step.agent,
                "attempt": line.step.attempt,
                "failure_count": line.step.failure_count,
                "failure_threshold": line.step.failure_threshold,
                "complete_by": line.step.complete_by and line.step.complete_by.isoformat(),
                "not_before": line.step.not_before and line.step.not_before.isoformat(),
                "locked_by": line.progress.locked_by,
                "idempotency_key": line.step.idempotency_key,
                "fault": line.step.fault,
                "explanation": line.progress.explanation,
            }
            for line in shown.steps
        ],
        "journal": [
            {
                "at": row.at.isoformat(),
                "event": row.event,
                "step": row.step.name if row.step else None,
                "before": row.before,
                "after": row.after,
                "attempt": row.attempt,
                "actor": row.actor,
                "detail": row.detail,
            }
            for row in Journal.objects.filter(process=shown.process)
            .select_related("step")
            .order_by("id")
        ],
    }
