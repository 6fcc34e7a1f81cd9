"""The reconciliation on real rows and real ledgers finds what is wrong, and nothing else."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from orders import demo_data
from orders.models import Order, Product, Reservation
from orders.sandbox.server import Sandbox
from tests.chaos import books
from tests.integration.conftest import flow_rows, reread
from tests.integration.test_shop_undo import order, run, switch
from tests.sandbox.caller import Caller
from workers.client import answers, operations
from workers.models import Process, Step

__all__ = ["flow_rows", "order"]
pytestmark = pytest.mark.django_db


def rows(sql: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql.replace("%", "%%"))
        return list(cursor.fetchall())


def unexplained(sandbox: Sandbox) -> list[str]:
    return books.unexplained(rows, sandbox.url, stocked=10)


def test_chaos_books_start_with_the_demo_stock():
    assert books.STOCKED == demo_data.STOCK


@pytest.mark.parametrize("card", ["processed", "compensated"])
def test_an_order_that_ended_as_it_should_is_explained(wire, sandbox, order, card):
    if card == "compensated":
        switch(sandbox, "billing", {"fail_every": 1, "error_status": 422})
    run(wire)

    assert reread(order.process).state == card
    assert unexplained(sandbox) == []


def second_charge(order: Order, caller: Caller) -> None:
    caller.post("/payment/charge", "another", order=order.number, amount="19.00")


def wrong_sum(order: Order, caller: Caller) -> None:
    Order.objects.update(total="18.99")


def refund(order: Order, caller: Caller) -> None:
    (charge,) = caller.ledger("payment")["effects"]
    caller.post("/payment/refund", "r", order=order.number, undoes=charge["key"], amount="19.00")


def cancelled(order: Order, caller: Caller) -> None:
    Process.objects.update(state="cancelled", outcome="cancelled")
    Reservation.objects.update(released_at=timezone.now())
    Product.objects.update(stock=10)


def released(order: Order, caller: Caller) -> None:
    Reservation.objects.update(released_at=timezone.now())


def stolen(order: Order, caller: Caller) -> None:
    Product.objects.update(stock=7)


def untold(order: Order, caller: Caller) -> None:
    Process.objects.update(state="error", finished_at=None)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (second_charge, ["order N: processed with 2 standing charges, must be 1"]),
        (
            wrong_sum,
            [
                "order N: the charge is of 19.00, the total is 18.99, "
                "the invoice is of 19.00, the total is 18.99"
            ],
        ),
        (
            refund,
            ["order N: processed with 0 standing charges, must be 1, a parcel without payment"],
        ),
        (
            cancelled,
            [
                "order N: cancelled with 1 standing charges, must be 0, "
                "cancelled with 1 standing parcels, must be 0, "
                "cancelled with 1 standing invoices, must be 0"
            ],
        ),
        (
            released,
            [
                "order N: processed with {} reserved of {'SKU-1': 2}",
                "SKU-1: 8 in stock, must be 10",
            ],
        ),
        (stolen, ["SKU-1: 7 in stock, must be 8"]),
        (untold, ["order N: in error, and nobody was told"]),
    ],
)
def test_what_is_wrong_outside_or_in_the_rows_is_found(wire, sandbox, order, spoil, said):
    run(wire)
    spoil(order, Caller(sandbox.url))

    assert unexplained(sandbox) == [line.replace("N", str(order.number), 1) for line in said]


def test_what_a_person_did_by_hand_is_in_no_ledger(wire, sandbox, order):
    switch(sandbox, "payment", {"fail_every": 1, "error_status": 404})
    run(wire)
    assert Step.objects.get(name="charge_payment").state == "error"
    operations.complete(
        order.process_id, "charge_payment", {"paid": "by bank"}, actor="operator:ann", reason="paid"
    )
    run(wire)

    assert reread(order.process).state == "processed"
    assert unexplained(sandbox) == []


def test_an_order_that_came_back_has_its_money_back(wire, sandbox, order):
    run(wire)
    call_command("order", "return", str(order.number), reason="too small")
    back = Process.objects.get(workflow="return")
    for step in ("await_parcel", "inspect"):
        run(wire)
        answers.by_person(back.pk, step, {"approved": True}, actor="operator:ann")
    run(wire)

    assert reread(back).state == "processed"
    assert unexplained(sandbox) == []
    Reservation.objects.update(released_at=None)
    Product.objects.update(stock=8)
    assert unexplained(sandbox) == [
        f"order {order.number}: processed with {{'SKU-1': 2}} reserved of {{'SKU-1': 2}}"
    ]
