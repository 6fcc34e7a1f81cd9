"""The shop's workflow, failed at every step: the ledgers and the stock show what was undone."""

import json
import urllib.request
from typing import Any

import pytest

from orders.clients import payment
from orders.invariants import Ledgers
from orders.invariants import violations as shop_violations
from orders.models import Order, Product
from orders.sandbox.server import Sandbox
from tests.factories import placed
from workers import supervisor
from workers.client import operations
from workers.http import Answer
from workers.models import Alert, Step
from workers.ops.invariants import violations
from workers.testing import Wire, pass_time

SERVICES = ("payment", "shipping", "courier", "billing")
REFUSE = {"fail_every": 1, "error_status": 422}


def switch(sandbox: Sandbox, service: str, faults: dict[str, Any]) -> None:
    request = urllib.request.Request(
        f"{sandbox.url}/{service}/faults", json.dumps(faults).encode(), method="PUT"
    )
    urllib.request.urlopen(request).close()


@pytest.fixture
def order() -> Order:
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)
    return placed(2)


def run(wire: Wire, rounds: int = 5) -> None:
    for _ in range(rounds):
        wire.run_until_idle()
        pass_time(600)
        supervisor.sweep()
    wire.run_until_idle()


def expect_undone(order: Order, sandbox: Sandbox, undone: set[str]) -> Ledgers:
    """Nothing is left at any service, and exactly ``undone`` had and lost its effect."""
    ledgers = Ledgers.read(sandbox.url)
    order.process.refresh_from_db()
    assert order.process.state == "compensated"
    operations = {
        effect["operation"] for service in SERVICES for effect in ledgers.effects[service]
    }
    assert operations == undone
    assert Product.objects.get().stock == 10
    assert violations() == []
    assert shop_violations(ledgers) == []
    return ledgers


@pytest.mark.parametrize(
    ("faults", "undone", "alerts"),
    [
        ({"payment": {"fail_every": 1, "error_status": 402}}, set(), []),
        (
            {"shipping": REFUSE, "courier": REFUSE},
            {"charge", "refund", "issue", "void"},
            ["process_compensating"],
        ),
        ({"billing": REFUSE}, {"charge", "refund", "book", "cancel"}, ["process_compensating"]),
    ],
    ids=["a declined card", "no carrier", "no invoice"],
)
def test_what_was_done_before_the_failure_is_undone_once_each(
    wire, sandbox, order, faults, undone, alerts
):
    for service, switches in faults.items():
        switch(sandbox, service, switches)

    run(wire)

    ledgers = expect_undone(order, sandbox, undone)
    assert [len(ledgers.effects[service]) for service in SERVICES if ledgers.effects[service]] == [
        2
    ] * (len(undone) // 2)
    assert list(Alert.objects.values_list("code", flat=True)) == alerts


@pytest.mark.parametrize("service", ["billing", "shipping", "payment"])
def test_an_expired_key_of_a_service_undoes_nothing_and_buys_nothing_elsewhere(
    wire, sandbox, order, service
):
    switch(sandbox, service, {"fail_every": 1, "error_status": 401})
    run(wire)
    order.process.refresh_from_db()
    assert order.process.state == "processing"
    assert not Alert.objects.filter(process=order.process).exists()

    switch(sandbox, service, {})
    run(wire)

    order.process.refresh_from_db()
    effects = Ledgers.read(sandbox.url).effects
    done = {effect["operation"] for at in effects.values() for effect in at}
    assert (order.process.state, done) == ("processed", {"charge", "book", "issue"})
    assert effects["courier"] == []
    assert violations() == []


def test_an_expired_key_that_outlasts_our_own_keys_is_for_an_operator(wire, sandbox, order):
    switch(sandbox, "billing", {"fail_every": 1, "error_status": 401})
    run(wire, rounds=2)
    pass_time(2 * 86_400)
    run(wire, rounds=2)

    order.process.refresh_from_db()
    ledgers = Ledgers.read(sandbox.url)
    done = {effect["operation"] for at in ledgers.effects.values() for effect in at}
    assert (order.process.state, done) == ("error", {"charge", "book"})
    assert list(Alert.objects.values_list("code", flat=True)) == ["process_error"]


@pytest.mark.parametrize("times", [1, 9], ids=["once", "always"])
def test_an_empty_success_of_a_charge_is_asked_again_and_then_an_operator_s(
    wire, sandbox, order, monkeypatch, times
):
    real, keys = payment.post, []

    def post(url: str, **options: Any) -> Answer:
        keys.append(options["key"])
        answer = real(url, **options)
        return Answer(200, {}, answer.tries) if len(keys) <= times else answer

    monkeypatch.setattr(payment, "post", post)

    run(wire)

    order.process.refresh_from_db()
    effects = Ledgers.read(sandbox.url).effects
    assert len(effects["payment"]) == len(set(keys)) == 1
    if times == 1:
        assert (order.process.state, len(keys)) == ("processed", 2)
        return
    step = Step.objects.get(process=order.process, name="charge_payment")
    assert (order.process.state, len(keys)) == ("error", 3)
    assert (step.state, step.is_in_doubt, effects["shipping"]) == ("error", True, [])
    assert step.fault["message"] == "the service answered a success without saying for which order"
    assert list(Alert.objects.values_list("code", flat=True)) == ["process_error"]


@pytest.mark.fault("F2")
def test_an_effect_whose_answer_never_came_is_undone_as_well(wire, sandbox, order):
    # The invoice is issued every time, and every time the answer is lost.
    switch(sandbox, "billing", {"drop_after_effect_rate": 1.0})
    for _ in range(3):
        wire.run_until_idle()
        pass_time(600)
    switch(sandbox, "billing", {})

    run(wire)

    ledgers = expect_undone(order, sandbox, {"charge", "refund", "book", "cancel", "issue", "void"})
    assert len(ledgers.effects["billing"]) == 2


def test_nothing_in_stock_is_a_business_answer(wire, sandbox, order):
    Product.objects.update(stock=1)

    run(wire)

    order.process.refresh_from_db()
    assert order.process.state == "compensated"
    assert not Alert.objects.exists()
    assert Product.objects.get().stock == 1
    assert Ledgers.read(sandbox.url).effects["payment"] == []


def test_the_courier_takes_what_the_carrier_refuses(wire, sandbox, order):
    switch(sandbox, "shipping", REFUSE)

    run(wire)

    order.process.refresh_from_db()
    assert order.process.state == "processed"
    ledgers = Ledgers.read(sandbox.url)
    assert (len(ledgers.effects["shipping"]), len(ledgers.effects["courier"])) == (0, 1)
    assert shop_violations(ledgers) == []


def test_a_courier_s_parcel_is_taken_back_from_the_courier(wire, sandbox, order):
    switch(sandbox, "shipping", REFUSE)
    switch(sandbox, "billing", {"down": True})
    run(wire, rounds=2)

    operations.undo(order.process_id, outcome="compensated", actor="operator:ann", reason="test")
    switch(sandbox, "billing", {})
    run(wire)

    expect_undone(order, sandbox, {"charge", "refund", "book", "cancel"})


def test_a_payment_in_error_waits_for_an_operator_who_may_undo_it(wire, sandbox, order):
    switch(sandbox, "payment", REFUSE)
    run(wire)
    order.process.refresh_from_db()
    assert order.process.state == "error"
    assert [alert.code for alert in Alert.objects.all()] == ["process_error"]

    operations.undo(
        order.process_id, outcome="compensated", actor="operator:ann", reason="no money"
    )
    switch(sandbox, "payment", {})
    run(wire)

    expect_undone(order, sandbox, set())
