"""What a buyer reads about money is what the steps did, whatever the process's state says."""

import csv
import io
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from orders.money import money_of, money_of_each
from orders.returning import accept_return
from tests.admin.conftest import staff
from tests.api.conftest import Caller
from tests.factories import StepFactory
from tests.shop.conftest import order_with
from tests.shop.test_order_page import page_of
from workers.models import Process, Step

CHARGED = {"processed": True, "result": {"charge": "ch_1", "amount": "37.00"}}


def end(process_id: int, state: str) -> None:
    outcome = None if state == "processed" else state
    Process.objects.filter(pk=process_id).update(
        state=state, outcome=outcome, finished_at=timezone.now()
    )


def undone(state: str, charge: dict[str, Any], refund: dict[str, Any] | None) -> Order:
    order = order_with(charge_payment=charge)
    step = Step.objects.get(process=order.process, name="charge_payment")
    if refund is not None:
        key = f"{step.idempotency_key}:undo"
        StepFactory(
            process=order.process,
            name="refund_payment",
            position=9,
            agent="payment.refund",
            undoes=step,
            idempotency_key=key,
            **refund,
        )
        Step.objects.filter(pk=step.pk).update(state="compensated")
    end(order.process_id, state)
    return order


def returned(charge: dict[str, Any], refund: dict[str, Any]) -> Order:
    order = order_with("processed", charge_payment=charge)
    process = accept_return(order, actor="ann")
    Step.objects.filter(process=process).update(state="processed", result={}, not_before=None)
    Step.objects.filter(process=process, name="refund").update(
        **{"state": "processed", "result": None, "finished_at": timezone.now(), **refund}
    )
    end(process.pk, "processed")
    return order


@pytest.mark.parametrize("state", ["compensated", "cancelled"])
@pytest.mark.parametrize(
    ("charge", "refund", "words", "owed"),
    [
        (
            {"attempt": 3},
            {"processed": True, "result": {"refund": None}},
            "You were not charged.",
            "0.00",
        ),
        ({"state": "cancelled"}, None, "You were not charged.", "0.00"),
        (
            CHARGED,
            {"processed": True, "result": {"refund": "re_1"}},
            "Your payment of €37.00 was refunded.",
            "0.00",
        ),
        (
            CHARGED,
            {"processed": True, "is_by_hand": True},
            "Your payment of €37.00 was refunded.",
            "0.00",
        ),
        (
            CHARGED,
            {"processed": True, "result": {"refund": None}},
            "You paid €37.00, which has not been refunded yet.",
            "37.00",
        ),
        (CHARGED, None, "You paid €37.00, which has not been refunded yet.", "37.00"),
        (
            {"error": True, "is_in_doubt": True, "may_have_effect": True},
            None,
            "It is not known yet whether your payment was taken.",
            "0.00",
        ),
    ],
)
def test_undone_order_says_what_became_of_the_money(client, state, charge, refund, words, owed):
    order = undone(state, charge, refund)

    text = page_of(client, order)

    assert words in text
    assert money_of(order).facts["owed"] == owed
    is_open = "not been" in words or "not known" in words
    assert ("Everything was undone" not in text) == is_open


def test_undo_that_found_nothing_is_no_refund_among_the_steps(client):
    order = undone("cancelled", {"attempt": 3}, {"processed": True, "result": {"refund": None}})

    text = page_of(client, order)

    assert "Taking your payment Not charged" in text
    assert "Refunding your payment Nothing to refund" in text


@pytest.mark.parametrize(
    ("charge", "refund", "words"),
    [
        (CHARGED, {"result": {"refund": "re_1"}}, "Your payment of €37.00 was refunded."),
        (CHARGED, {"result": {}, "is_by_hand": True}, "Your payment of €37.00 was refunded."),
        (CHARGED, {"state": "skipped"}, "You paid €37.00, which has not been refunded yet."),
        ({"skipped": True}, {"result": {"refund": None}}, "You were not charged."),
        ({"skipped": True}, {"state": "skipped"}, "You were not charged."),
    ],
)
def test_complete_return_says_refunded_only_after_a_refund(client, charge, refund, words):
    order = returned(charge, refund)

    text = page_of(client, order)

    assert f"Your return is complete. {words}" in text
    assert "money was refunded" not in text


def test_refund_under_an_earlier_key_is_not_the_refund_of_a_charge_begun_again():
    order = undone("processed", CHARGED, {"processed": True, "result": {"refund": "re_1"}})
    Step.objects.filter(name="charge_payment").update(state="processed", idempotency_key="another")

    assert money_of(order).facts == {
        "paid": "37.00",
        "refunded": "0.00",
        "owed": "0.00",
        "in_doubt": False,
    }


@pytest.mark.parametrize(
    ("may_have_effect", "words"),
    [(False, "You were not charged."), (True, "It is not known yet whether your payment was")],
)
def test_order_whose_charge_was_skipped_says_what_is_known_of_the_payment(
    client, may_have_effect, words
):
    charge = {"skipped": True, "may_have_effect": may_have_effect}

    assert words in page_of(client, order_with("processed", charge_payment=charge))


def rows_of_file(client: Client) -> list[dict[str, str]]:
    answer = client.get("/admin/orders/order/csv/")
    text = b"".join(answer).decode("utf-8-sig")  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("charge", "refund", "facts", "words"),
    [
        (CHARGED, None, ("37.00", "0.00", "37.00", False), "Owed to the buyer 37.00"),
        (
            CHARGED,
            {"processed": True, "result": {"refund": "re_1"}},
            ("37.00", "37.00", "0.00", False),
            "Refunded 37.00",
        ),
        ({"skipped": True}, None, ("0.00", "0.00", "0.00", False), "Paid 0.00"),
        (
            {"error": True, "is_in_doubt": True, "may_have_effect": True},
            None,
            ("0.00", "0.00", "0.00", True),
            "It is not known yet whether the payment was taken",
        ),
    ],
)
def test_api_file_and_operators_page_say_the_same_of_the_money(charge, refund, facts, words):
    order = undone("cancelled", charge, refund)
    Order.objects.filter(pk=order.pk).update(submitter="client:acme")
    expected = dict(zip(("paid", "refunded", "owed", "in_doubt"), facts, strict=True))
    viewer = staff("viewer", "orders.view_order")

    page = viewer.get(f"/admin/orders/order/{order.number}/change/").content.decode()

    assert Caller().get(f"/orders/{order.public_id}").json()["money"] == expected
    (row,) = rows_of_file(viewer)
    assert {name: row[name] for name in expected} == {
        name: str(value) for name, value in expected.items()
    }
    assert words in " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_money_of_many_orders_takes_one_query():
    orders = [undone("cancelled", CHARGED, None) for _ in range(3)]
    orders.append(returned(CHARGED, {"result": {"refund": "re_1"}}))

    with CaptureQueriesContext(connection) as captured:
        money = money_of_each(orders)

    assert len(captured) == 1
    assert [str(money[order.pk].owed) for order in orders] == ["37.00"] * 3 + ["0.00"]
    assert money[orders[-1].pk].refunded == orders[-1].total
