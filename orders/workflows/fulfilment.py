"""The fulfilment of an order."""

from collections.abc import Mapping
from decimal import Decimal

from orders import correcting, notices
from orders.workflows import payloads
from workers import Fallback, OnFailure, Undo, Workflow, register_workflow, step
from workers.definitions.workflow import Json

#: Orders with this total or more are reviewed by a person.
REVIEWED_FROM = Decimal("1000.00")


def _is_large(order: Json, results: Mapping[str, Json]) -> bool:
    return Decimal(order["total"]) >= REVIEWED_FROM


def describe(order: Json) -> Json:
    """Return how submitters identify an order; they do not know its process."""
    return {
        "process_id": None,
        "subject": None,
        "order_id": order["id"],
        "number": order["number"],
    }


FULFILMENT = register_workflow(
    Workflow(
        "fulfilment",
        version=2,
        # Once there are a parcel and an invoice, the buyer returns the order instead.
        no_return=("book_shipment", "issue_invoice"),
        editable=tuple(correcting.COLUMNS),
        on_edit=correcting.take_over,
        on_end=notices.of_order_end,
        personal=payloads.PERSONAL,
        # A customer may be corrected: an order is found by that itself.
        attributes={"order": int, "reference": str},
        told_as="order",
        describe=describe,
        steps=(
            step(
                "reserve_stock",
                "stock.reserve",
                undo=Undo("release_stock", "stock.release"),
                request=payloads.stock,
            ),
            step(
                "review",
                "review.ask",
                after="reserve_stock",
                when=_is_large,
                on_failure=OnFailure.COMPENSATE,
                request=payloads.money,
            ),
            step(
                "charge_payment",
                "payment.charge",
                after="review",
                undo=Undo("refund_payment", "payment.refund"),
                request=payloads.money,
            ),
            step(
                "book_shipment",
                "shipping.book",
                after="charge_payment",
                undo=Undo("cancel_shipment", "shipping.cancel"),
                fallbacks=(Fallback("courier.book", undo_agent="courier.cancel"),),
                on_failure=OnFailure.COMPENSATE,
                request=payloads.parcel,
            ),
            step(
                "issue_invoice",
                "billing.issue",
                after="charge_payment",
                undo=Undo("void_invoice", "billing.void"),
                on_failure=OnFailure.COMPENSATE,
                request=payloads.money,
            ),
            step(
                "send_confirmation",
                "confirmation.send",
                after=("book_shipment", "issue_invoice"),
                optional=True,
                request=payloads.confirmation,
            ),
        ),
    )
)
