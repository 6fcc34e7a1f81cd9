"""The reconciliation must be able to find: each wrong sum alone, and it is named."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.chaos.reconciliation import Account, Effect, goods, reconcile

TOTAL = Decimal("24.00")
LINES = {"SKU-001": 2}
STEPS = dict.fromkeys(
    ("reserve_stock", "charge_payment", "book_shipment", "issue_invoice"), "processed"
)
PROCESSED = Account(7, "processed", TOTAL, LINES, LINES, STEPS)
CANCELLED = replace(PROCESSED, state="cancelled", reserved={})
IN_ERROR = replace(PROCESSED, state="error", is_told=True)

CHARGE = Effect("payment", "charge", "c", 7, TOTAL)
PARCEL = Effect("shipping", "book", "p", 7)
INVOICE = Effect("billing", "issue", "i", 7, TOTAL)
DONE = [CHARGE, PARCEL, INVOICE]
REFUND = Effect("payment", "refund", "r", 7, TOTAL, undoes="c")
TAKEN_BACK = Effect("shipping", "cancel", "t", 7, undoes="p")
VOID = Effect("billing", "void", "v", 7, undoes="i")
UNDONE = [VOID, TAKEN_BACK, REFUND]


def wrongs(account: Account, effects: list[Effect]) -> list[str]:
    return reconcile([account], effects).get(7, [])


@pytest.mark.parametrize(
    ("account", "effects"),
    [
        (PROCESSED, DONE),
        (PROCESSED, [CHARGE, replace(PARCEL, service="courier"), INVOICE]),
        # Begun again: the first charge was given back, another one made.
        (PROCESSED, [CHARGE, REFUND, replace(CHARGE, key="c2"), PARCEL, INVOICE]),
        (CANCELLED, [*DONE, *UNDONE]),
        (CANCELLED, []),
        (replace(CANCELLED, state="compensated"), [CHARGE, REFUND]),
        (replace(PROCESSED, is_returned=True, reserved={}), [*DONE, REFUND]),
        # A bank transfer is in no ledger; and what was refunded by bank, still is.
        (replace(PROCESSED, by_hand=frozenset({"charge_payment"})), [PARCEL, INVOICE]),
        (replace(CANCELLED, by_hand=frozenset({"charge_payment"})), [CHARGE]),
        (IN_ERROR, DONE),
        (replace(IN_ERROR, steps={**STEPS, "issue_invoice": "error"}), [CHARGE, PARCEL]),
        (replace(IN_ERROR, steps={**STEPS, "issue_invoice": "error"}), DONE),
        # The refund is stuck: it may have gone through.
        (
            replace(
                IN_ERROR,
                steps={**STEPS, "book_shipment": "compensated", "issue_invoice": "cancelled"},
                undoing=frozenset({"charge_payment", "reserve_stock"}),
            ),
            [CHARGE, PARCEL, TAKEN_BACK, REFUND],
        ),
    ],
)
def test_what_the_state_explains_is_fine(account, effects):
    assert reconcile([account], effects) == {}


@pytest.mark.parametrize(
    ("account", "effects", "said"),
    [
        (
            PROCESSED,
            [replace(CHARGE, amount=Decimal("24.01")), PARCEL, INVOICE],
            "the charge is of 24.01, the total is 24.00",
        ),
        (
            PROCESSED,
            [CHARGE, PARCEL, replace(INVOICE, amount=Decimal("2.40"))],
            "the invoice is of 2.40, the total is 24.00",
        ),
        (
            # Given back since: it was a wrong sum all the same.
            CANCELLED,
            [replace(CHARGE, amount=Decimal(240)), replace(REFUND, amount=Decimal(240))],
            "the charge is of 240, the total is 24.00",
        ),
        (
            PROCESSED,
            [*DONE, replace(CHARGE, key="c2")],
            "processed with 2 standing charges, must be 1",
        ),
        (
            PROCESSED,
            [*DONE, replace(PARCEL, service="courier")],
            "processed with 2 standing parcels, must be 1",
        ),
        (CANCELLED, [*DONE, TAKEN_BACK, REFUND], "cancelled with 1 standing invoices, must be 0"),
        (CANCELLED, [CHARGE], "cancelled with 1 standing charges, must be 0"),
        (
            replace(CANCELLED, by_hand=frozenset({"charge_payment"})),
            [CHARGE, replace(CHARGE, key="c2")],
            "cancelled with 2 standing charges, must be 0 or 1",
        ),
        (CANCELLED, [REFUND], "a refund of nothing"),
        (CANCELLED, [CHARGE, REFUND, replace(REFUND, key="r2")], "a second refund of one charge"),
        (
            replace(PROCESSED, is_returned=True, reserved={}),
            DONE,
            "processed with 1 standing charges, must be 0",
        ),
        (
            replace(PROCESSED, reserved={"SKU-001": 1}),
            DONE,
            "processed with {'SKU-001': 1} reserved of {'SKU-001': 2}",
        ),
        (
            replace(CANCELLED, reserved=LINES),
            [],
            "cancelled with {'SKU-001': 2} reserved of {'SKU-001': 2}",
        ),
        (replace(IN_ERROR, is_told=False), DONE, "in error, and nobody was told"),
        (
            replace(IN_ERROR, steps={**STEPS, "issue_invoice": "cancelled"}),
            DONE,
            "error with 1 standing invoices, must be 0",
        ),
        (IN_ERROR, [CHARGE, PARCEL], "error with 0 standing invoices, must be 1"),
        (
            replace(IN_ERROR, steps={**STEPS, "charge_payment": "error"}),
            [PARCEL, INVOICE],
            "a parcel without payment",
        ),
        (replace(PROCESSED, state="compensating"), DONE, "not at rest: compensating"),
    ],
)
def test_each_wrong_is_found_alone(account, effects, said):
    assert wrongs(account, effects) == [said]


def test_a_refund_of_another_sum_leaves_its_charge_standing():
    assert wrongs(CANCELLED, [CHARGE, replace(REFUND, amount=Decimal("2.40"))]) == [
        "a refund of 2.40 for a charge of 24.00",
        "cancelled with 1 standing charges, must be 0",
    ]


def test_a_processed_order_without_any_effect_is_found():
    assert wrongs(PROCESSED, []) == [
        "processed with 0 standing charges, must be 1",
        "processed with 0 standing parcels, must be 1",
        "processed with 0 standing invoices, must be 1",
    ]


def test_a_processed_order_whose_parcel_was_not_paid_is_found():
    assert "a parcel without payment" in wrongs(PROCESSED, [PARCEL, INVOICE])


def test_effects_of_another_order_are_found():
    theirs: dict[str, Any] = {"order": 8}
    assert reconcile([PROCESSED], [*DONE, replace(CHARGE, key="x", **theirs)]) == {
        8: ["effects of an order that nobody placed"]
    }
    assert reconcile([PROCESSED], [*DONE, replace(REFUND, **theirs)]) == {
        8: ["a refund of what order 7 has"]
    }


def test_stock_is_what_the_orders_left():
    accounts = [PROCESSED, CANCELLED]
    assert goods(accounts, {"SKU-001": 98, "SKU-002": 100}, 100) == {}
    assert goods(accounts, {"SKU-001": 100, "SKU-002": 100}, 100) == {"SKU-001": (100, 98)}
