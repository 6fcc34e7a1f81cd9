"""The shop: orders placed, fulfilled, undone and sent back, whatever dies."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Sum

from orders.models import Order, OrderLine, Product, Reservation
from orders.numbers import skip_to
from orders.returning import ReturnRefused, accept_return
from orders.submission import Customer, Line, place_order
from tests.crashes.scenario import (
    Scenario,
    does,
    happens_once,
    mails,
    nothing,
    services,
    was_in_doubt,
)
from workers.client import operations
from workers.definitions.agent import Call
from workers.exceptions import Refused, Transient
from workers.models import Alert, Journal, Process, Step
from workers.operate import retention
from workers.testing import Aftermath, Clock, Wire, scripted
from workers.testing import always as at_every_call

_FORWARD = ("charge_payment", "book_shipment", "issue_invoice", "send_confirmation")
_REMOTE = {
    *("payment.charge", "shipping.book", "billing.issue"),
    *("payment.refund", "shipping.cancel", "courier.cancel", "billing.void", "courier.book"),
}


def _stocked(wire: Wire) -> None:
    Product.objects.create(sku="SKU-001", name="Lamp", price="9.50", stock=100)
    Product.objects.create(sku="SKU-002", name="Desk", price="99.00", stock=100)


def _place() -> None:
    place_order(
        Customer("Ann", "ann@example.org", "Street 1"),
        [Line("SKU-001", 2), Line("SKU-002", 1)],
        submission_key="key-1",
        source="shop",
    )


def _placed(after: Aftermath) -> None:
    order = Order.objects.get()
    assert order.total == Decimal("118.00")
    # With the notice to the buyer.
    assert (OrderLine.objects.count(), Process.objects.count()) == (2, 2)
    # On PostgreSQL the number of an order that was rolled back is left out.
    assert order.process.subject == f"Order {order.number}"
    assert list(Journal.objects.values_list("event", flat=True)) == ["submitted"] * 2


def _services(**other: Callable[[Call], dict[str, Any]]) -> AbstractContextManager[Any]:
    """Have the remote services remember what they did; stock is the shop's own."""
    scripts = {name: [at_every_call(does)] for name in _REMOTE}
    scripts["confirmation.send"] = [at_every_call(mails)]
    scripts |= {name.replace("_", "."): [at_every_call(act)] for name, act in other.items()}
    return scripted(scripts)


def _fulfil(wire: Wire, clock: Clock) -> None:
    with _services():
        wire.run_until_settled(clock)


def _stock() -> tuple[list[int], int]:
    taken = Reservation.objects.filter(released_at=None).aggregate(n=Sum("quantity"))["n"]
    return list(Product.objects.order_by("sku").values_list("stock", flat=True)), taken or 0


def _done() -> dict[str, int]:
    found = services().count()
    del found["mishap"]
    # Notices have tests of their own.
    found.pop("mail", None)
    return dict(found)


def _fulfilled(after: Aftermath) -> None:
    assert Process.objects.get(workflow="fulfilment").state == "processed"
    assert _stock() == ([98, 99], 3)
    assert Reservation.objects.count() == 2
    mail = Step.objects.get(name="send_confirmation").state
    done = _done()
    assert mail == "processed" or after.crash is not None
    # Of a mail that was cut off nobody knows: it is not sent again, and an operator is told.
    skipped = Step.objects.filter(name__in=["send_confirmation", "mail"], state="skipped")
    assert Alert.objects.count() == skipped.count()
    if mail == "processed":
        assert done == dict.fromkeys(_FORWARD, 1)
        if not skipped.exists():
            after.assert_same_journal()
    else:
        assert done in (dict.fromkeys(_FORWARD, 1), dict.fromkeys(_FORWARD[:-1], 1))


def _refuse_parcels(wire: Wire, clock: Clock) -> None:
    """Have no carrier take the parcel, and the refund fail once."""

    def refuse(call: Call) -> dict[str, Any]:
        raise Refused("no_such_address", "nobody goes there")

    def refund(call: Call) -> dict[str, Any]:
        if happens_once("the refund fails"):
            raise Transient("http_500", "not now")
        return does(call)

    with _services(shipping_book=refuse, courier_book=refuse, payment_refund=refund):
        wire.run_until_settled(clock)


def _undone(after: Aftermath) -> None:
    assert Process.objects.get(workflow="fulfilment").state == "compensated"
    assert _stock() == ([100, 100], 0)
    assert Reservation.objects.count() == 2
    done = _done()
    # The invoice runs beside the parcel: it is voided where it was issued.
    assert done.get("void_invoice", 0) >= done.get("issue_invoice", 0)
    done = {name: n for name, n in done.items() if "invoice" not in name}
    in_doubt = was_in_doubt("book_shipment")
    assert after.crash is not None or not in_doubt
    # The refusal speaks for its own call only: the one that was cut off is cancelled.
    cancelled = {"cancel_shipment": 1} if in_doubt else {}
    assert done == {"charge_payment": 1, "refund_payment": 1} | cancelled


def _processed(wire: Wire) -> None:
    _stocked(wire)
    _place()
    with _services():
        wire.run_until_idle()
    assert Process.objects.get(workflow="fulfilment").state == "processed"


def _send_back() -> None:
    try:
        accept_return(Order.objects.get(), actor="operator:ann")
    except ReturnRefused:
        assert Process.objects.exclude(workflow="notice").count() == 2


def _begun_once(after: Aftermath) -> None:
    assert Process.objects.filter(workflow="return").count() == 1
    after.assert_same_journal(may_add=())


def _sent_back(wire: Wire) -> None:
    """An order that ended, and the return of it that came to nothing; an order under way."""
    _processed(wire)
    process = accept_return(Order.objects.get(), actor="operator:ann")
    operations.cancel(process.pk, actor="operator:ann", reason="kept after all")
    wire.run_until_idle()
    place_order(
        Customer("Bob", "bob@example.org", "Street 2"),
        [Line("SKU-001", 1)],
        submission_key="key-2",
        source="shop",
    )


def _prune(wire: Wire, clock: Clock) -> None:
    # The lease of whoever died over it.
    clock.advance(seconds=retention.LEASE_SECONDS + 1)
    retention.prune(seconds=None, batch=1, now=clock.now + timedelta(days=40_000))


def _gone(after: Aftermath) -> None:
    order = Order.objects.get()
    assert (order.customer_name, OrderLine.objects.count()) == ("Bob", 1)
    assert Process.objects.get(workflow="fulfilment") == order.process
    assert not Reservation.objects.exists()
    # What was taken out of stock stays taken.
    assert _stock() == ([98, 99], 0)


def _skip_numbers() -> None:
    skip_to(1000)
    if not Order.objects.exists():
        _place()


def _numbered(after: Aftermath) -> None:
    # PostgreSQL's sequence is beside the transaction: a number may be left out, never repeated.
    number = Order.objects.get().number
    assert number == 1000 or (after.crash and number == 1001)


SCENARIOS = [
    Scenario("place an order", _place, _placed, prepare=_stocked, run=nothing),
    Scenario(
        "fulfil an order",
        _place,
        _fulfilled,
        prepare=_stocked,
        run=_fulfil,
        brief=("runner.perform_local", "filed_replies.file", "runner.run", "settle_replies.apply"),
    ),
    Scenario(
        "undo an order",
        _place,
        _undone,
        prepare=_stocked,
        run=_refuse_parcels,
        brief=("runner.perform_local", "settle_replies.apply"),
    ),
    Scenario("begin a return", _send_back, _begun_once, prepare=_processed, run=nothing),
    Scenario("prune orders", lambda: None, _gone, prepare=_sent_back, run=_prune),
    Scenario("skip numbers", _skip_numbers, _numbered, prepare=_stocked, run=nothing),
]
