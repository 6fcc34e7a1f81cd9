"""One key, one effect; and what an undo leaves behind."""

from datetime import datetime, timedelta

import pytest


def test_a_charge_is_one_effect_with_its_key_order_and_amount(caller):
    reply = caller.post("/payment/charge", "k1", order=7, amount="12.50")

    assert reply.status == 200
    assert reply.body == {"id": reply.body["id"], "order": 7, "amount": "12.50"}
    assert reply.body["id"].startswith("ch_")
    ledger = caller.ledger("payment")
    (effect,) = ledger["effects"]
    assert datetime.fromisoformat(effect.pop("at")).utcoffset() == timedelta(0)
    assert effect == {"key": "k1", "operation": "charge", "order": 7, "amount": "12.50"}
    assert ledger["calls"] == 1


def test_a_repeated_key_is_answered_the_same_and_is_no_new_effect(caller):
    replies = [caller.post("/billing/issue", "k1", order=7) for _ in range(3)]

    assert {reply.raw for reply in replies} == {replies[0].raw}
    ledger = caller.ledger("billing")
    assert len(ledger["effects"]) == 1
    assert "amount" not in ledger["effects"][0]
    assert ledger["calls"] == 3


def test_the_same_key_at_two_services_is_two_effects(caller):
    first = caller.post("/shipping/book", "k1", order=7, address="1 Main Street")
    second = caller.post("/courier/book", "k1", order=7, address="1 Main Street")

    assert first.body["id"] != second.body["id"]
    assert caller.effects("shipping") == caller.effects("courier") == [("book", "k1", 7)]


def test_effects_are_listed_in_the_order_in_which_they_happened(caller):
    for number in (3, 1, 2):
        caller.post("/billing/issue", f"k{number}", order=number)

    assert [order for _, _, order in caller.effects("billing")] == [3, 1, 2]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        pytest.param("/payment/charge", {"order": 8, "amount": "5.00"}, "order", id="order"),
        pytest.param("/payment/charge", {"order": 7, "amount": "5.01"}, "amount", id="amount"),
        pytest.param(
            "/payment/refund",
            {"order": 7, "amount": "5.00", "undoes": "other"},
            "operation",
            id="operation",
        ),
    ],
)
def test_a_key_used_for_something_else_is_refused(caller, path, body, field):
    caller.post("/payment/charge", "k1", order=7, amount="5.00")

    reply = caller.post(path, "k1", **body)

    assert (reply.status, reply.body["error"], reply.body["field"]) == (422, "key_reused", field)
    assert caller.effects("payment") == [("charge", "k1", 7)]


@pytest.mark.parametrize(
    ("path", "body", "status", "error"),
    [
        pytest.param("/payment/charge", {"card": "declined"}, 402, "card_declined", id="card"),
        pytest.param(
            "/shipping/book",
            {"address": "12 Nowhere Lane"},
            422,
            "undeliverable_address",
            id="shipping address",
        ),
        pytest.param(
            "/courier/book",
            {"address": "nowhere"},
            422,
            "undeliverable_address",
            id="courier address",
        ),
    ],
)
def test_a_business_refusal_has_no_effect_and_is_not_remembered(caller, path, body, status, error):
    refused = caller.post(path, "k1", order=7, **body)
    accepted = caller.post(path, "k1", order=7)

    assert (refused.status, refused.body["error"]) == (status, error)
    assert accepted.status == 200
    assert len(caller.effects(path.split("/")[1])) == 1


@pytest.mark.parametrize(
    ("service", "forward", "undo"),
    [
        ("payment", "charge", "refund"),
        ("shipping", "book", "cancel"),
        ("courier", "book", "cancel"),
        ("billing", "issue", "void"),
    ],
)
def test_an_undo_is_one_effect_and_repeats_like_any_call(caller, service, forward, undo):
    caller.post(f"/{service}/{forward}", "do", order=7, amount="5.00")

    replies = [caller.post(f"/{service}/{undo}", "un", order=7, undoes="do") for _ in range(2)]

    assert {reply.raw for reply in replies} == {replies[0].raw}
    assert replies[0].body["undone"] is True
    assert replies[0].body["amount"] == "5.00"
    assert caller.effects(service) == [(forward, "do", 7), (undo, "un", 7)]


def test_an_undo_of_an_unseen_key_leaves_a_tombstone_for_the_late_call(caller):
    undo = caller.post("/payment/refund", "un", order=7, undoes="do")
    late = caller.post("/payment/charge", "do", order=7, amount="5.00")
    again = caller.post("/payment/refund", "un", order=7, undoes="do")

    assert (undo.status, undo.body["undone"]) == (200, False)
    assert (late.status, late.body["error"]) == (409, "undone")
    assert again.raw == undo.raw
    assert caller.effects("payment") == []


def test_a_call_repeated_after_its_undo_gets_its_first_answer(caller):
    first = caller.post("/payment/charge", "do", order=7, amount="5.00")
    caller.post("/payment/refund", "un", order=7, undoes="do")

    late = caller.post("/payment/charge", "do", order=7, amount="5.00")

    assert late.raw == first.raw
    assert len(caller.effects("payment")) == 2


def test_a_second_undo_with_another_key_is_refused(caller):
    caller.post("/payment/charge", "do", order=7, amount="5.00")
    caller.post("/payment/refund", "un", order=7, undoes="do")

    second = caller.post("/payment/refund", "un2", order=7, undoes="do")

    assert (second.status, second.body["error"]) == (422, "already_undone")
    charge, refund = caller.ledger("payment")["effects"]
    assert ("undoes" in charge, refund["undoes"]) == (False, "do")
    assert caller.effects("payment") == [("charge", "do", 7), ("refund", "un", 7)]


@pytest.mark.parametrize("order", [7, 8])
def test_an_undo_whose_key_is_forgotten_finds_its_call_by_reference(caller, order):
    id_ = caller.post("/payment/charge", "do", order=7, amount="5.00").body["id"]

    replies = [
        caller.post("/payment/refund", key, order=order, undoes="forgotten", reference=id_)
        for key in ("un", "un", "un2")
    ]

    if order == 7:
        assert [reply.body.get("undone") for reply in replies] == [True, True, None]
        assert (replies[2].status, replies[2].body["error"]) == (422, "already_undone")
        assert caller.effects("payment") == [("charge", "do", 7), ("refund", "un", 7)]
    else:
        assert [reply.body["undone"] for reply in replies] == [False] * 3
        assert caller.effects("payment") == [("charge", "do", 7)]


def test_an_undo_of_another_orders_key_is_refused(caller):
    caller.post("/payment/charge", "do", order=7, amount="5.00")

    reply = caller.post("/payment/refund", "un", order=8, undoes="do")

    assert (reply.status, reply.body["field"]) == (422, "undoes")
    assert caller.effects("payment") == [("charge", "do", 7)]
