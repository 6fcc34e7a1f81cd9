"""Accepts orders from the shop, the HTTP API and the queue."""

import hashlib
import json
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django.utils import timezone

from orders import notices, telling
from orders.agreement import OfferChanged, agreement
from orders.models import Order, OrderLine, Product
from orders.models.order import PRIVATE
from orders.numbers import next_order_number
from orders.workflows import FULFILMENT, REVIEWED_FROM
from workers import AlreadySubmitted, NewSink, durable
from workers.client import submission

#: The maximum of the column.
LARGEST_TOTAL = Decimal("9999999999.99")


class SubmissionRefused(Exception):
    """The order cannot be accepted: ``errors`` maps each field to its reason."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {reason}" for field, reason in errors.items()))
        self.errors = errors


class KeyReused(Exception):
    """The submission key belongs to ``order``, which differs from the submitted one."""

    def __init__(self, order: Order) -> None:
        super().__init__(
            f"The submission key was used for order {order.number}, which has another content. "
            "Send each new order with a new key."
        )
        self.order = order


@dataclass(frozen=True, slots=True)
class Customer:
    name: str
    email: str
    address: str


@dataclass(frozen=True, slots=True)
class Line:
    sku: str
    quantity: int


def place_order(
    customer: Customer,
    lines: list[Line],
    *,
    submission_key: str,
    source: str,
    submitter: str = "",
    reference: str = "",
    reply_to: str = "",
    callback_url: str = "",
    correlation_id: str = "",
    body_hash: str | None = None,
    agreed: str | None = None,
) -> tuple[Order, bool]:
    """Accept an order: its row, its lines, its process and all steps in ONE transaction.

    Returns the order and whether it is new: the same key with the same content returns the
    first order, even to a concurrent call.  Raises ``KeyReused`` for the same key with other
    content, and ``SubmissionRefused`` naming the field; nothing is stored then.  The broker is
    not involved.  ``body_hash`` is the hash of the content as it was received; by default that of
    the arguments.

    ``agreed`` is the ``agreement`` that the buyer saw.  Raises ``OfferChanged`` unless the lines
    at the prices read in this transaction are the same; None compares nothing.

    ``reply_to`` and ``callback_url`` are told of every event of the order, with
    ``correlation_id``; telling them never holds up the order.
    """
    body_hash = body_hash or _hash(customer, lines, reference, reply_to, callback_url)
    first = first_order(submitter, submission_key)
    if first is None:
        addresses = (submitter, reply_to, callback_url, correlation_id)
        if errors := telling.problems(*addresses):
            raise SubmissionRefused(errors)
        try:
            with durable("submission.place_order"):
                order = _store(
                    customer,
                    lines,
                    key=_key(submitter, submission_key),
                    submitter=submitter,
                    source=source,
                    reference=reference,
                    body_hash=body_hash,
                    agreed=agreed,
                    sinks=telling.sinks(*addresses),
                )
            return order, True
        except AlreadySubmitted as taken:
            # A concurrent call has committed since we looked.
            first = Order.objects.defer(*PRIVATE).filter(process=taken.process).first()
            if first is None:
                # Its process goes later than the order, or is kept by an alert.
                message = "Its order was deleted long ago. Send each new order with a new key."
                raise SubmissionRefused({"submission_key": message}) from None
    if first.body_hash != body_hash:
        raise KeyReused(first)
    return first, False


def _hash(
    customer: Customer, lines: list[Line], reference: str, reply_to: str, callback_url: str
) -> str:
    body = {
        "customer": asdict(customer),
        "lines": [asdict(line) for line in lines],
        "reference": reference,
        # Left out if empty, so that the hashes of older orders stay valid.
        **({"reply_to": reply_to} if reply_to else {}),
        **({"callback_url": callback_url} if callback_url else {}),
    }
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def first_order(submitter: str, submission_key: str) -> Order | None:
    """Return the order of a submitter's key, without its customer; None: there is none yet."""
    orders = Order.objects.defer(*PRIVATE).filter(
        process__workflow=FULFILMENT.name, process__submission_key=_key(submitter, submission_key)
    )
    return orders.order_by("-process__key_use").first()


def _key(submitter: str, submission_key: str) -> str:
    # The submitter's own key first: it is what people search for.
    return f"{submission_key} {submitter}"


def _store(
    customer: Customer,
    lines: list[Line],
    *,
    key: str,
    sinks: tuple[NewSink, ...],
    agreed: str | None,
    **columns: Any,
) -> Order:
    products = _products(lines)
    offer = ((line.sku, line.quantity, products[line.sku].price) for line in lines)
    if agreed is not None and agreed != agreement(offer):
        raise OfferChanged
    order = Order(
        **columns,
        customer_name=customer.name,
        customer_email=customer.email,
        customer_address=customer.address,
        total=_total(lines, products),
        created_at=timezone.now(),
    )
    order.number = next_order_number()
    order.process = submission.submit(
        FULFILMENT.name,
        subject=f"Order {order.number}",
        input=_snapshot(order, customer, lines, products),
        actor=f"submitter:{columns['source']}",
        # One lane per client; in the shop, one per customer.
        lane=columns["submitter"] or customer.email.lower(),
        sinks=sinks,
        attributes={"order": order.number, **_reference(order)},
        submission_key=key,
        on_conflict="refuse",
        key_for=None,
    )
    order.save(force_insert=True)
    OrderLine.objects.bulk_create(
        [
            OrderLine(
                order=order,
                product=products[line.sku],
                sku=line.sku,
                name=products[line.sku].name,
                quantity=line.quantity,
                unit_price=products[line.sku].price,
            )
            # Foreign keys lock products in this order, the same as everywhere.
            for line in sorted(lines, key=lambda line: products[line.sku].pk)
        ]
    )
    notices.tell(order, "review" if order.total >= REVIEWED_FROM else "received")
    return order


def _products(lines: list[Line]) -> dict[str, Product]:
    """Return the products of the lines by sku; raise ``SubmissionRefused``."""
    if not lines:
        raise SubmissionRefused({"lines": "An order needs at least one line."})
    skus = [line.sku for line in lines]
    products = {product.sku: product for product in Product.objects.filter(sku__in=skus)}
    errors = {}
    for i, line in enumerate(lines):
        product = products.get(line.sku)
        if line.sku in skus[:i]:
            errors[f"lines.{i}.sku"] = f"{line.sku} is listed twice. Add up the quantities."
        elif product is None or not product.is_listed:
            errors[f"lines.{i}.sku"] = f"We do not sell {line.sku}. Choose from the catalogue."
        elif line.quantity < 1:
            errors[f"lines.{i}.quantity"] = "The quantity must be 1 or more."
        elif product.stock < line.quantity:
            errors[f"lines.{i}.quantity"] = (
                f"Only {product.stock} of {product.name} are left. Lower the quantity."
            )
    if errors:
        raise SubmissionRefused(errors)
    return products


def _total(lines: list[Line], products: dict[str, Product]) -> Decimal:
    """Return the total of the lines; raise ``SubmissionRefused`` above the maximum."""
    total = sum((products[line.sku].price * line.quantity for line in lines), Decimal())
    if total > LARGEST_TOTAL:
        message = f"An order may be worth {LARGEST_TOTAL:,} at most. Split it."
        raise SubmissionRefused({"lines": message})
    return total


def _reference(order: Order) -> dict[str, str]:
    return {"reference": order.reference} if order.reference.strip() else {}


def _snapshot(
    order: Order, customer: Customer, lines: list[Line], products: dict[str, Product]
) -> dict[str, Any]:
    """Return the input of the order's process."""
    return {
        "number": order.number,
        "id": str(order.public_id),
        "total": str(order.total),
        "customer": asdict(customer),
        "lines": [
            {
                **asdict(line),
                "name": products[line.sku].name,
                "price": str(products[line.sku].price),
            }
            for line in lines
        ],
    }
