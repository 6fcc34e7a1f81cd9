"""The requests to each service, made from an order."""

from collections.abc import Mapping

from workers.definitions.workflow import Json

#: Fields of an order that identify the customer: name, e-mail and address.
PERSONAL = ("customer",)


def stock(order: Json, results: Mapping[str, Json]) -> Json:
    return {
        "order": order["number"],
        "lines": [{"sku": line["sku"], "quantity": line["quantity"]} for line in order["lines"]],
    }


def money(order: Json, results: Mapping[str, Json]) -> Json:
    return {"order": order["number"], "amount": order["total"]}


def parcel(order: Json, results: Mapping[str, Json]) -> Json:
    return {"order": order["number"], "address": order["customer"]["address"]}


def confirmation(order: Json, results: Mapping[str, Json]) -> Json:
    """The order, and what may be said of it: a skipped step has no result."""
    return {
        **order,
        "is_paid": "charge_payment" in results,
        "is_shipped": "book_shipment" in results,
    }
