"""The shop's invariants, restricted to the orders that the ledgers can know."""

from typing import Any

import pytest

from orders import invariants
from orders.invariants import Ledgers
from orders.models import Order
from tests.factories import OrderFactory, ProcessFactory, StepFactory

pytestmark = pytest.mark.django_db
SERVICES = ("payment", "shipping", "courier", "billing")


def order() -> Order:
    made: Order = OrderFactory(process=ProcessFactory(state="processing"))
    StepFactory(process=made.process, name="charge_payment", processed=True)
    StepFactory(process=made.process, name="reserve_stock", processed=True)
    return made


def ledgers(*charges: tuple[int, str]) -> Ledgers:
    effects: dict[str, list[dict[str, Any]]] = {service: [] for service in SERVICES}
    effects["payment"] = [
        {"operation": "charge", "order": number, "amount": amount} for number, amount in charges
    ]
    return Ledgers(effects, {service: {} for service in SERVICES})


def broken(found: Ledgers, *numbers: Order) -> set[tuple[str, str]]:
    wanted = {order.number for order in numbers} if numbers else None
    return {(row.invariant, row.subject) for row in invariants.violations(found, wanted)}


def test_an_order_from_before_the_ledgers_is_left_out():
    old, new = order(), order()
    found = ledgers((new.number, "37.00"))
    old_is_broken = ("processed_means_done", f"Order {old.number}")
    assert old_is_broken in broken(found)
    assert broken(found, new) == {("stock_is_reserved_once", f"Order {new.number}")}


def test_within_the_restriction_everything_is_found():
    old, new = order(), order()
    charge = (new.number, "1.00")
    subject = f"Order {new.number}"
    assert broken(ledgers(charge, charge, (old.number, "5.00")), new) == {
        ("effects_happen_once", subject),
        ("processed_means_done", subject),
        ("money_adds_up", subject),
        ("stock_is_reserved_once", subject),
    }


def test_no_orders_at_all_is_not_every_order():
    order()
    assert invariants.violations(ledgers(), set()) == []
