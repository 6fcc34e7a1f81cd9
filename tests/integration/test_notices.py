"""A buyer is mailed at each turn of an order: what it is, the money, why, and what happens next."""

import re
from typing import Any

import httpx2
import pytest
from django.core import mail
from django.db import transaction

import workers
from orders import notices
from orders.models import Order, Product
from orders.returning import accept_return
from orders.sandbox.server import Sandbox
from tests.alerts import text_of
from tests.factories import placed
from tests.integration.conftest import only
from workers.client import callbacks, operations
from workers.exceptions import Refused
from workers.models import Alert, Process
from workers.ops import invariants
from workers.privacy import erase as erasing
from workers.store import alert_resolution
from workers.testing import Wire, pass_time


def place(key: str = "key-1", *, price: str = "18.50", quantity: int = 1) -> Order:
    Product.objects.get_or_create(
        sku=f"SKU-{price}", defaults={"name": "Lamp", "price": price, "stock": 10}
    )
    return placed(quantity, sku=f"SKU-{price}", key=key)


def subject(sent: Any) -> str:
    return re.sub(r"^Your order \d+", "Your order", sent.subject)


def mails() -> dict[str, str]:
    """Return the mails sent so far by subject without the number, each text in one line."""
    assert all(sent.to == ["ann@example.org"] for sent in mail.outbox)
    return {subject(sent): " ".join(sent.body.split()) for sent in mail.outbox}


def newest() -> tuple[str, str]:
    return list(mails().items())[-1]


def set_faults(sandbox: Sandbox, service: str, **faults: Any) -> None:
    httpx2.put(f"{sandbox.url}/{service}/faults", json=faults).raise_for_status()


def settle(wire: Wire) -> None:
    """Let everything happen that needs nobody."""
    for _ in range(6):
        wire.run_until_idle()
        pass_time(400)
    wire.run_until_idle()


def in_error(wire: Wire, sandbox: Sandbox) -> Order:
    set_faults(sandbox, "payment", fail_every=1)
    order = place()
    settle(wire)
    order.refresh_from_db()
    assert order.process.state == "error"
    return order


def test_an_order_is_told_when_it_is_received_and_when_it_is_sent(wire, sandbox):
    order = place(quantity=2)
    assert Process.objects.filter(workflow="notice").count() == 1
    wire.run_until_idle()

    received, sent = mails().items()
    assert received[0] == "Your order: received"
    for words in (
        f"Hello Ann, thank you. We have received your order {order.number}",
        "2 x Lamp Total: €37.00",
        "you can cancel the order on its page",
        order.get_absolute_url(),
    ):
        assert words in received[1]
    assert sent[0] == "Your order"
    assert "is paid and on its way" in sent[1]
    assert "ask for a return" in sent[1]
    assert invariants.violations() == []


def test_a_notice_exists_exactly_if_its_turn_does():
    with transaction.atomic():
        place()
        assert Process.objects.filter(workflow="notice").exists()
        transaction.set_rollback(True)
    assert not Process.objects.exists()


def test_a_large_order_is_told_that_a_person_looks_at_it_and_declined(wire, sandbox):
    order = place(price="1000.00")
    wire.run_until_idle()
    title, text = newest()
    assert title == "Your order: received, we look at it"
    assert "nothing is charged before" in text

    callbacks.fail_step(order.process_id, "review", Refused("no", ""), actor="operator:bob")
    wire.run_until_idle()

    title, text = newest()
    assert title == "Your order: we could not complete it"
    assert "Our team could not accept this order." in text
    assert "Total: €1,000.00 You were not charged. Nothing will be sent" in text


def test_a_declined_card_is_told(wire, sandbox):
    set_faults(sandbox, "payment", error_rate=1.0, error_status=402)
    place()
    wire.run_until_idle()

    assert "Your card was declined. You were not charged." in newest()[1]


@pytest.mark.parametrize(
    ("actor", "is_asked"), [(notices.BUYER, True), ("operator:bob", False), ("client:x", False)]
)
def test_a_cancelled_order_is_told_with_its_refund(wire, sandbox, actor, is_asked):
    set_faults(sandbox, "shipping", down=True)
    set_faults(sandbox, "courier", down=True)
    order = place()
    wire.run_until_idle()

    workers.cancel(order.process_id, actor=actor, reason="told in confidence")
    for service in ("shipping", "courier"):
        set_faults(sandbox, service)
    settle(wire)

    title, text = newest()
    assert title == "Your order: cancelled"
    assert "Your payment of €18.50 was refunded." in text
    assert ("You asked for it." in text) == is_asked
    assert "confidence" not in text


def test_an_order_that_is_held_up_is_told_once(wire, sandbox):
    order = in_error(wire, sandbox)
    title, text = newest()
    assert title == "Your order: held up"
    assert "The payment service had a problem." in text
    assert "It is not known yet whether your payment was taken." in text

    operations.resubmit(order.process_id, actor="ann", reason="again")
    settle(wire)

    order.refresh_from_db()
    assert order.process.state == "error"
    assert [subject(sent) for sent in mail.outbox].count("Your order: held up") == 1


def test_a_return_is_told_from_its_begin_to_its_refund(wire, sandbox):
    order = place()
    wire.run_until_idle()
    process = accept_return(order, actor="ann")
    wire.run_until_idle()
    title, text = newest()
    assert title == "Your order: you may send it back"
    assert "Send the parcel back within 30 days" in text
    assert "You paid €18.50." in text

    for name in ("await_parcel", "inspect"):
        callbacks.complete_step(process.pk, name, actor="ann")
        wire.run_until_idle()

    title, text = newest()
    assert title == "Your order: your return is complete"
    assert "Your payment of €18.50 was refunded." in text


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("await_parcel", "Your parcel has not come."),
        ("inspect", "We could not take back what you sent."),
    ],
)
def test_a_return_that_came_to_nothing_is_told_with_its_reason(wire, sandbox, step, reason):
    order = place()
    wire.run_until_idle()
    process = accept_return(order, actor="ann")
    wire.run_until_idle()
    if step == "inspect":
        callbacks.complete_step(process.pk, "await_parcel", actor="ann")
        wire.run_until_idle()
    callbacks.fail_step(process.pk, step, Refused("no", "no"), actor="ann")
    wire.run_until_idle()

    title, text = newest()
    assert title == "Your order: your return has ended"
    assert reason in text
    assert "without a refund" in text


def test_an_erased_order_has_nobody_to_tell(wire, sandbox):
    order = place()
    wire.run_until_idle()
    erasing.erase(order.process_id, actor="ann", reason="asked")
    count = len(mail.outbox)

    accept_return(Order.objects.get(), actor="ann")
    wire.run_until_idle()

    assert len(mail.outbox) == count


@pytest.mark.parametrize(
    ("step", "faults", "says"),
    [
        (
            "charge_payment",
            {"error_rate": 1.0, "error_status": 422},
            "its payment of 18.50 was not taken",
        ),
        ("charge_payment", {"fail_every": 1}, "nobody knows whether its payment of 18.50 was"),
        ("book_shipment", {"down": True}, "nothing was sent to its buyer"),
    ],
)
def test_an_order_that_ends_without_what_a_person_skipped_is_told_to_operators(
    wire, sandbox, step, faults, says
):
    services = ("payment",) if step == "charge_payment" else ("shipping", "courier")
    for service in services:
        set_faults(sandbox, service, **faults)
    order = place()
    settle(wire)
    operations.skip(order.process_id, step, actor="ann", reason="a gift")
    settle(wire)

    alert = Alert.objects.get(code="owed_at_end")
    assert alert.process_id == order.process_id
    assert says in text_of(alert)
    assert ("is paid" in newest()[1]) == (step == "book_shipment")
    assert "on its way" not in newest()[1]

    for service in services:
        set_faults(sandbox, service)
    if "fail_every" in faults:
        return
    operations.redo(order.process_id, step, actor="ann", reason="it may", may_happen_twice=True)
    settle(wire)
    assert only(order.process, step).state == "processed"
    alert_resolution.resolve_ended()
    alert.refresh_from_db()
    assert alert.resolved_at is not None
