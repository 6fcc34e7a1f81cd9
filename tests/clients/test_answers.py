"""A success counts for what was asked, and for nothing else."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from orders.agents import billing, payment, shipping
from orders.clients import answers
from tests.clients.scripted import answer, scripted
from workers import Agent, Call, Deferred, Permanent, Transient
from workers.definitions.agent import Deadline

CHARGED = {"id": "ch_1", "order": 7, "amount": "5.00"}
REFUNDED = {"id": "re_1", "order": 7, "amount": "5.00", "undoes": "do", "undone": True}
TOMBSTONE = {"order": 7, "amount": "5.00", "undoes": "do", "undone": False}
BOOKED = {"id": "pa_1", "order": 7}
CANCELLED = {"id": "ca_1", "order": 7, "undoes": "do", "undone": True}


@pytest.fixture
def run(settings) -> Callable[..., Any]:
    def run(agent: Agent, body: dict[str, Any], **known: Any) -> dict[str, Any] | Deferred | None:
        payload = {"order": 7, "amount": "5.00", "address": "1 Mill Lane", "undoes": "do", **known}
        call = Call("Order 7", "step", "key", 1, payload, Deadline(10))
        with scripted([answer("200 OK", json.dumps(body).encode())]) as service:
            settings.SANDBOX_URL = service.url
            return agent.run(call)

    return run


@pytest.mark.parametrize(
    ("agent", "body", "result"),
    [
        (payment.ChargePayment(), CHARGED, {"charge": "ch_1", "amount": "5.00"}),
        (payment.ChargePayment(), {**CHARGED, "amount": 5}, {"charge": "ch_1", "amount": "5.00"}),
        (payment.RefundPayment(), REFUNDED, {"refund": "re_1"}),
        (payment.RefundPayment(), TOMBSTONE, {"refund": None}),
        (billing.IssueInvoice(), CHARGED, {"invoice": "ch_1"}),
        (billing.VoidInvoice(), CANCELLED, {"void": "ca_1"}),
        (shipping.BookShipment(), BOOKED, {"carrier": "shipping", "parcel": "pa_1"}),
        (shipping.CancelCourier(), CANCELLED, {"carrier": "courier", "cancelled": "ca_1"}),
    ],
)
def test_what_was_asked_for_is_a_result(run, agent, body, result):
    assert run(agent, body) == result


@pytest.mark.parametrize(
    ("agent", "body"),
    [
        (payment.ChargePayment(), {}),
        (payment.ChargePayment(), {**CHARGED, "amount": "50.00"}),
        (payment.ChargePayment(), {**CHARGED, "amount": "five"}),
        (payment.ChargePayment(), {**CHARGED, "amount": None}),
        (payment.ChargePayment(), {**CHARGED, "order": 8}),
        (payment.ChargePayment(), {**CHARGED, "id": ""}),
        (payment.ChargePayment(), {**CHARGED, "id": None}),
        (payment.RefundPayment(), {}),
        (payment.RefundPayment(), {**REFUNDED, "amount": "4.00"}),
        (payment.RefundPayment(), {**REFUNDED, "undoes": "other"}),
        (payment.RefundPayment(), {**REFUNDED, "undone": "yes"}),
        (payment.RefundPayment(), {**REFUNDED, "id": None}),
        (payment.RefundPayment(), {**TOMBSTONE, "order": 8}),
        (billing.IssueInvoice(), {**CHARGED, "amount": "50.00"}),
        (billing.VoidInvoice(), {}),
        (shipping.BookShipment(), {"order": 7}),
        (shipping.BookCourier(), {"id": "pa_1", "order": 8}),
        (shipping.CancelShipment(), {}),
    ],
)
def test_a_success_for_something_else_is_of_unknown_outcome(run, agent, body):
    with pytest.raises(Transient) as fault:
        run(agent, body)

    assert fault.value.code == "answer_unusable"


def test_an_empty_success_says_that_it_says_nothing(run):
    with pytest.raises(Transient, match="a success without saying for which order"):
        run(payment.ChargePayment(), {})


GIVE_BACK = [
    (payment.RefundPayment(), TOMBSTONE),
    (billing.VoidInvoice(), TOMBSTONE),
    (shipping.CancelShipment(), TOMBSTONE),
]


@pytest.mark.parametrize("known", [{"result": {"charge": "ch_1"}}, {"was_done": True}])
@pytest.mark.parametrize(("agent", "body"), GIVE_BACK)
def test_nothing_undone_is_no_success_where_something_was_done(run, agent, body, known):
    with pytest.raises(Permanent, match="nothing_undone"):
        run(agent, body, **known)


@pytest.mark.parametrize("known", [{"result": None}, {"was_done": False}])
def test_of_what_is_only_possible_there_may_be_nothing_to_undo(run, known):
    assert run(payment.RefundPayment(), TOMBSTONE, **known) == {"refund": None}


def test_what_gives_something_back_is_keyed_by_it():
    assert answers.give_back_key("do") == answers.give_back_key("do") == "do:undo"


#: The key of a step's own call, and what it knows of what it gives back.
AS_AN_UNDO = ("do:undo", {"result": {"id": "do_1"}})
AS_A_RETURN = ("other", {"was_done": True})


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        (payment.RefundPayment(), "/payment/refund"),
        (shipping.CancelShipment(), "/shipping/cancel"),
        (shipping.CancelCourier(), "/courier/cancel"),
        (billing.VoidInvoice(), "/billing/void"),
    ],
    ids=["refund", "cancel", "cancel at the courier", "void"],
)
def test_an_undo_and_a_return_send_one_key(agent, path, settings):
    known = {"order": 7, "amount": "5.00", "undoes": "do"}
    with scripted([answer("200 OK", json.dumps(REFUNDED).encode())]) as service:
        settings.SANDBOX_URL = service.url
        for key, more in (AS_AN_UNDO, AS_A_RETURN):
            agent.run(Call("Order 7", "step", key, 1, known | more, Deadline(10)))

    assert [_line_and_key(request) for request in service.requests] == [
        (f"POST {path} HTTP/1.1", ["do:undo"])
    ] * 2


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (payment.RefundPayment(), "charge"),
        (shipping.CancelShipment(), "parcel"),
        (shipping.CancelCourier(), "parcel"),
        (billing.VoidInvoice(), "invoice"),
    ],
    ids=["refund", "cancel", "cancel at the courier", "void"],
)
@pytest.mark.parametrize(
    ("known", "reference"),
    [
        ({"result": {"charge": "id_1", "parcel": "id_1", "invoice": "id_1"}}, "id_1"),
        ({"was_done": True, "reference": "id_2"}, "id_2"),
        ({"result": {"note": "by hand"}}, None),
        ({"result": None}, None),
        ({"was_done": True, "reference": None}, None),
    ],
    ids=["an undo", "a return", "by hand", "in doubt", "a return of a charge by hand"],
)
def test_an_undo_names_the_service_s_own_reference_where_it_is_known(
    agent, name, known, reference, settings
):
    payload = {"order": 7, "amount": "5.00", "undoes": "do", **known}
    with scripted([answer("200 OK", json.dumps(REFUNDED).encode())]) as service:
        settings.SANDBOX_URL = service.url
        agent.run(Call("Order 7", "step", "un", 1, payload, Deadline(10)))

    (request,) = service.requests
    assert json.loads(request.partition(b"\r\n\r\n")[2]).get("reference") == reference


def _line_and_key(request: bytes) -> tuple[str, list[str]]:
    """Return a request's first line, and its idempotency keys."""
    first, *headers = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    found = [line.partition(": ") for line in headers]
    return first, [value for name, _, value in found if name.lower() == "idempotency-key"]


@pytest.mark.parametrize("agent", [payment.ChargePayment(), shipping.BookShipment()])
def test_key_used_for_another_order_proves_nothing(agent):
    declined = Permanent("declined", "no", no_effect=False, status=422)
    reused = Permanent(answers.KEY_REUSED, "used before", no_effect=False, status=422)

    assert (agent.vouches(declined), agent.vouches(reused)) == (True, False)
