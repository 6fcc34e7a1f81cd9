"""Applies edits of a process's input to its order's columns."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from orders.models import Order
from workers import StateError

#: Path of the input -> column of the order.
COLUMNS = {
    "customer.address": "customer_address",
    "customer.email": "customer_email",
}


def take_over(document: Mapping[str, Any], changed: Mapping[str, list[Any]]) -> None:
    """Write changes of a process's input to its order, in the caller's transaction.

    ``changed`` is {path: [before, after]}.  Raises ``StateError`` for a value that the order
    cannot have.
    """
    order = Order.objects.get(number=document["number"])
    columns = {COLUMNS[path]: after for path, (_, after) in changed.items() if path in COLUMNS}
    for column, value in columns.items():
        setattr(order, column, value)
    try:
        others = {field.name for field in order._meta.fields} - set(columns)
        order.clean_fields(exclude=others)
    except ValidationError as error:
        fields = error.message_dict.items()
        detail = "; ".join(f"{name}: {' '.join(texts)}" for name, texts in fields)
        raise StateError(detail) from None
    if columns:
        order.save(update_fields=list(columns))
