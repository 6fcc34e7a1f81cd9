"""Version 1 of fulfilment, without review, for the orders that began with it."""

from orders.workflows import payloads
from workers import Fallback, OnFailure, Undo, Workflow, register_workflow, step

register_workflow(
    Workflow(
        "fulfilment",
        version=1,
        # Once there are a parcel and an invoice, the buyer returns the order instead.
        no_return=("book_shipment", "issue_invoice"),
        personal=payloads.PERSONAL,
        steps=(
            step(
                "reserve_stock",
                "stock.reserve",
                undo=Undo("release_stock", "stock.release"),
                request=payloads.stock,
            ),
            step(
                "charge_payment",
                "payment.charge",
                after="reserve_stock",
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
