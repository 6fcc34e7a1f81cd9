"""A second workflow on the same engine: an order comes back and is paid back, once."""

from typing import Any

import pytest

from orders.invariants import Ledgers
from orders.invariants import violations as shop_violations
from orders.models import Order, Product
from orders.returning import ReturnRefused, accept_return
from orders.sandbox.server import Sandbox
from tests.factories import placed
from tests.integration.conftest import only, reread
from workers import supervisor
from workers.client import callbacks, operations
from workers.desk.admin.actions.answering import labels_of
from workers.exceptions import Refused, StateError
from workers.models import Process
from workers.ops import invariants
from workers.rules.external_answers import Outcome
from workers.testing import Wire, pass_time


def ordered() -> Order:
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)
    return placed(2)


@pytest.fixture
def order(wire, sandbox) -> Order:
    order = ordered()
    wire.run_until_idle()
    return order


def answer(process: Process, wire: Wire) -> None:
    for name in ("await_parcel", "inspect"):
        assert callbacks.complete_step(process.pk, name, actor="ann") == Outcome.ACCEPTED
        wire.run_until_idle()


def effects(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Return what the payment service remembers."""
    return Ledgers.read(sandbox.url).effects["payment"]


def test_what_came_back_is_in_stock_and_paid_back_once(order, wire, sandbox):
    process = accept_return(order, actor="ann")
    wire.run_until_idle()
    assert Product.objects.get().stock == 8
    answer(process, wire)

    assert reread(process).state == "processed"
    assert Product.objects.get().stock == 10
    ledgers = Ledgers.read(sandbox.url)
    assert [e["operation"] for e in ledgers.effects["payment"]] == ["charge", "refund"]
    assert shop_violations(ledgers) == []
    assert invariants.violations() == []


def test_what_a_return_gave_back_an_undo_does_not_give_back_again(order, wire, sandbox):
    charge = only(order.process, "charge_payment")
    process = accept_return(order, actor="ann")
    wire.run_until_idle()
    answer(process, wire)
    # As in a database that was restored to a time before the parcel was booked.
    order.process.steps.filter(
        name__in=["book_shipment", "issue_invoice", "send_confirmation"]
    ).update(state="waiting", may_have_effect=False, result=None)
    Process.objects.filter(pk=order.process_id).update(state="processing", finished_at=None)

    operations.undo(order.process_id, outcome="cancelled", actor="ann", reason="")
    wire.run_until_idle()

    assert reread(order.process).state == "cancelled"
    assert only(order.process, "refund_payment").result == only(process, "refund").result
    assert [(effect["operation"], effect["key"]) for effect in effects(sandbox)] == [
        ("charge", charge.idempotency_key),
        ("refund", f"{charge.idempotency_key}:undo"),
    ]


def test_a_return_is_refunded_after_the_service_has_forgotten_our_key(order, wire, sandbox):
    """Goods come back after days; payment services remember a key for one."""
    sandbox._ledger._writer.run(
        lambda connection: connection.execute("UPDATE remembered SET key = 'forgotten-' || key")
    )

    process = accept_return(order, actor="ann")
    wire.run_until_idle()
    answer(process, wire)

    assert reread(process).state == "processed"
    assert [e["operation"] for e in Ledgers.read(sandbox.url).effects["payment"]] == [
        "charge",
        "refund",
    ]


def test_a_parcel_that_comes_before_we_ask_is_kept(order, wire):
    process = accept_return(order, actor="ann")
    assert callbacks.complete_step(process.pk, "await_parcel", actor="dock") == Outcome.KEPT
    wire.run_until_idle()
    assert only(process, "await_parcel").state == "processed"


def test_a_parcel_that_never_comes_ends_the_return(order, wire, sandbox):
    process = accept_return(order, actor="ann")
    wire.run_until_idle()
    pass_time(31 * 86_400)
    supervisor.sweep()
    wire.run_until_idle()

    assert reread(process).state == "compensated"
    assert len(Ledgers.read(sandbox.url).effects["payment"]) == 1


def test_what_cannot_be_sold_again_is_not_paid_back(order, wire, sandbox):
    process = accept_return(order, actor="ann")
    wire.run_until_idle()
    callbacks.complete_step(process.pk, "await_parcel", actor="ann")
    wire.run_until_idle()
    callbacks.fail_step(process.pk, "inspect", Refused("damaged", "broken"), actor="ann")
    wire.run_until_idle()

    assert reread(process).state == "compensated"
    assert len(Ledgers.read(sandbox.url).effects["payment"]) == 1
    assert shop_violations(Ledgers.read(sandbox.url)) == []


def test_an_order_comes_back_once(order):
    accept_return(order, actor="ann")
    with pytest.raises(ReturnRefused, match="begun already"):
        accept_return(order, actor="bob")
    assert Process.objects.filter(workflow="return").count() == 1


def test_a_return_that_came_to_nothing_can_begin_again(order, wire, sandbox):
    process = accept_return(order, actor="ann", reason="too big")
    assert process.input["reason"] == "too big"
    wire.run_until_idle()
    callbacks.fail_step(process.pk, "await_parcel", Refused("lost", "lost"), actor="ann")
    wire.run_until_idle()

    again = accept_return(order, actor="ann")
    wire.run_until_idle()
    answer(again, wire)
    assert reread(again).state == "processed"
    assert shop_violations(Ledgers.read(sandbox.url)) == []


def test_an_order_that_is_not_done_does_not_come_back(wire):
    order = ordered()
    with pytest.raises(ReturnRefused, match="is pending"):
        accept_return(order, actor="ann")
    assert not Process.objects.filter(workflow="return").exists()


def test_a_refund_that_did_not_happen_is_found(order, wire, sandbox):
    process = accept_return(order, actor="ann")
    wire.run_until_idle()
    answer(process, wire)
    ledgers = Ledgers.read(sandbox.url)
    ledgers.effects["payment"].pop()

    found = {violation.invariant for violation in shop_violations(ledgers)}
    assert "returned_means_refunded" in found


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("returns.await_parcel", ("It is here", "It will not come")),
        ("returns.inspect", ("Take it back and refund", "Do not take it back")),
        ("review.ask", ("Approve", "Decline")),
    ],
)
def test_each_question_has_answers_of_its_own(agent, said):
    assert labels_of(agent) == said


def test_a_question_of_code_that_is_gone_can_be_answered():
    assert labels_of("returns.gone") == ("Approve", "Decline")


@pytest.mark.parametrize("name", ["refund", "restock"])
def test_step_that_gives_back_is_completed_by_hand_and_never_skipped(order, wire, name):
    process = accept_return(order, actor="ann")
    wire.run_until_idle()
    for answered in ("await_parcel", "inspect"):
        callbacks.complete_step(process.pk, answered, actor="ann")
        if answered == "await_parcel":
            wire.run_until_idle()

    with pytest.raises(StateError, match=f"{name} undoes something and cannot be skipped"):
        operations.skip(process.pk, name, actor="ann", reason="a voucher")

    operations.complete(process.pk, name, {}, actor="ann", reason="in cash")
    wire.run_until_idle()
    assert reread(process).state == "processed"
