"""What happens to an order."""

from collections.abc import Mapping

from workers.registry import register_workflow
from workers.workflow import Json, Workflow, step


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
        steps=(
            step("reserve_stock", "stock.reserve", request=_stock),
            step("charge_payment", "payment.charge", after="reserve_stock", request=_money),
            step(
                "book_shipment",
                "shipping.book",
                fallbacks=("courier.book",),
                after="charge_payment",
                request=_parcel,
            ),
            step("issue_invoice", "billing.issue", after="charge_payment", request=_money),
            step(
                "send_confirmation",
                "confirmation.send",
                after=("book_shipment", "issue_invoice"),
                optional=True,
            ),
        ),
    )
)
