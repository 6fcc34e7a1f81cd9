"""The clients speak the sandbox's language, every operation of it."""

from collections.abc import Iterator

import pytest

from orders.clients import billing, payment, shipping
from orders.sandbox.server import Sandbox
from tests.clients.clock import seconds
from tests.sandbox.caller import Caller
from workers.exceptions import Refused, Transient, Unavailable


@pytest.fixture
def sandbox(tmp_path) -> Iterator[Sandbox]:
    with Sandbox(tmp_path / "store") as sandbox:
        yield sandbox


@pytest.fixture
def caller(sandbox) -> Caller:
    return Caller(sandbox.url)


def charge(sandbox: Sandbox, *, left: float = 5, card: str | None = None) -> str:
    answered = payment.charge(
        sandbox.url, order=7, amount="5.00", key="do", remaining=seconds(left), card=card
    )
    return str(answered.body["id"])


def test_a_charge_and_its_refund(sandbox, caller):
    reference = charge(sandbox)
    undone = payment.refund(
        sandbox.url, order=7, amount="5.00", key="un", undoes="do", remaining=seconds(5)
    )

    assert reference.startswith("ch_")
    assert undone.body["undone"] is True
    assert caller.effects("payment") == [("charge", "do", 7), ("refund", "un", 7)]


@pytest.mark.parametrize("carrier", ["shipping", "courier"])
def test_a_parcel_and_its_cancellation(sandbox, caller, carrier):
    shipping.book(
        sandbox.url,
        order=7,
        address="1 Main Street",
        key="do",
        remaining=seconds(5),
        carrier=carrier,
    )
    shipping.cancel(
        sandbox.url, order=7, key="un", undoes="do", remaining=seconds(5), carrier=carrier
    )

    assert caller.effects(carrier) == [("book", "do", 7), ("cancel", "un", 7)]


def test_an_invoice_and_its_cancellation(sandbox, caller):
    billing.issue(sandbox.url, order=7, amount="5.00", key="do", remaining=seconds(5))
    billing.void(sandbox.url, order=7, key="un", undoes="do", remaining=seconds(5))

    assert caller.effects("billing") == [("issue", "do", 7), ("void", "un", 7)]


def test_a_declined_card_is_a_business_answer(sandbox):
    with pytest.raises(Refused) as caught:
        charge(sandbox, card="declined")

    assert caught.value.code == "card_declined"


def test_a_call_after_its_undo_has_an_open_outcome(sandbox, caller):
    payment.refund(sandbox.url, order=7, amount="5.00", key="un", undoes="do", remaining=seconds(5))

    with pytest.raises(Transient) as caught:
        charge(sandbox)

    assert caught.value.code == "undone"
    assert caller.effects("payment") == []


def test_a_service_that_is_down_is_unavailable_and_left_alone(sandbox, caller):
    caller.set_faults("payment", down=True)

    with pytest.raises(Unavailable) as caught:
        charge(sandbox)

    assert (caught.value.retry_after, caught.value.tries) == (1.0, 1)
    assert caller.ledger("payment")["calls"] == 1


@pytest.mark.parametrize(
    ("switch", "code"),
    [("drop_after_effect_rate", "connection_lost"), ("garbage_rate", "unreadable_answer")],
)
def test_an_effect_without_its_answer_is_found_by_the_next_call(sandbox, caller, switch, code):
    caller.set_faults("payment", **{switch: 1})

    with pytest.raises(Transient) as caught:
        charge(sandbox)
    caller.set_faults("payment")
    charge(sandbox)

    assert caught.value.code == code
    assert caller.effects("payment") == [("charge", "do", 7)]


def test_a_hanging_service_is_left_in_time(sandbox, caller):
    caller.set_faults("payment", hang_rate=1)

    with pytest.raises(Transient) as caught:
        charge(sandbox, left=0.2)

    assert caught.value.code == "timeout"
    assert caller.effects("payment") == []
