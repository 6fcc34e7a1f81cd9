"""What happens to an order."""

from collections.abc import Mapping

from workers.registry import register_workflow
from workers.workflow import Fallback, Json, OnFailure, Undo, Workflow, step


def _stock(order: Json, results: Mapping[str, Json]) -> Json:
    return {
        "order": order["number"],
        "lines": [{"sku": line["sku"], "quantity": line["quantity"]} for line in order["lines"]],
    }


def _money(order: Json, results: Mapping[str, Json]) -> Json:
    return {"order": order["number"], "amount": order["total"]}


def _parcel(order: Json, results: Mapping[str, Json]) -> Json:
    return {"order": order["number"], "address": order["customer"]["address"]}


FULFILMENT = register_workflow(
    Workflow(
        "fulfilment",
        version=1,
        # Once there are a parcel and an invoice, the buyer sends things back instead.
        no_return=("book_shipment", "issue_invoice"),
        steps=(
            step(
                "reserve_stock",
                "stock.reserve",
                undo=Undo("release_stock", "stock.release"),
                request=_stock,
            ),
            step(
                "charge_payment",
                "payment.charge",
                after="reserve_stock",
                undo=Undo("refund_payment", "payment.refund"),
                request=_money,
            ),
            step(
                "book_shipment",
                "shipping.book",
                after="charge_payment",
                undo=Undo("cancel_shipment", "shipping.cancel"),
                fallbacks=(Fallback("courier.book", undo_agent="courier.cancel"),),
                on_failure=OnFailure.COMPENSATE,
                request=_parcel,
            ),
            step(
                "issue_invoice",
                "billing.issue",
                after="charge_payment",
                undo=Undo("void_invoice", "billing.void"),
                on_failure=OnFailure.COMPENSATE,
                request=_money,
            ),
            step(
                "send_confirmation",
                "confirmation.send",
                after=("book_shipment", "issue_invoice"),
                optional=True,
            ),
        ),
    )
)
