"""A large order is looked at by a person before anything is charged."""

from typing import Any

import pytest

from orders.invariants import Ledgers
from orders.invariants import violations as shop_violations
from orders.models import Order, Product
from orders.sandbox.server import Sandbox
from tests.factories import placed
from tests.integration.conftest import only
from workers import scheduler, supervisor
from workers.client import callbacks, operations
from workers.exceptions import Refused
from workers.models import Alert
from workers.ops import invariants
from workers.rules.external_answers import Outcome
from workers.testing import Wire, pass_time

HOUR, DAY = 3600, 86_400


def place(quantity: int) -> Order:
    Product.objects.get_or_create(
        sku="SKU-1", defaults={"name": "Lamp", "price": "100.00", "stock": 100}
    )
    return placed(quantity, key=f"key-{quantity}")


@pytest.fixture
def large(wire, sandbox) -> Order:
    order = place(10)
    wire.run_until_idle()
    return order


def end(order: Order, wire: Wire) -> str:
    wire.run_until_idle()
    order.process.refresh_from_db()
    state: str = order.process.state
    return state


def effects(sandbox: Sandbox) -> list[Any]:
    return [effect for effects in Ledgers.read(sandbox.url).effects.values() for effect in effects]


def test_it_waits_for_a_person_and_charges_nothing(large, sandbox):
    review = only(large.process, "review")
    assert review.state == "processing"
    assert review.deferral["permission"] == "orders.decide_review"
    assert review.deferral["question"] == f"Accept order {large.number} of €1000.00?"
    assert effects(sandbox) == []


def test_one_of_less_than_a_thousand_goes_on_by_itself(wire, sandbox):
    order = place(9)
    assert end(order, wire) == "processed"
    assert only(order.process, "review").state == "skipped"


def test_accepted_it_goes_on(large, wire, sandbox):
    outcome = callbacks.complete_step(
        large.process_id, "review", {"approved": True, "by": "ann"}, actor="ann"
    )
    assert outcome == Outcome.ACCEPTED
    assert end(large, wire) == "processed"
    assert shop_violations(Ledgers.read(sandbox.url)) == []
    assert invariants.violations() == []


def test_declined_answer_compensates_process_without_alert(large, wire, sandbox):
    callbacks.fail_step(
        large.process_id, "review", Refused("review_declined", "too good"), actor="ann"
    )
    assert end(large, wire) == "compensated"
    assert effects(sandbox) == []
    assert Product.objects.get().stock == 100
    assert Alert.objects.count() == 0


def test_after_four_hours_operators_are_told(large):
    pass_time(4 * HOUR + 1)
    supervisor.sweep()
    assert Alert.objects.get().code == "answer_overdue"
    assert only(large.process, "review").state == "processing"


def test_after_a_day_it_is_undone_and_operators_are_told(large, wire, sandbox):
    pass_time(DAY + 2)
    supervisor.sweep()
    assert end(large, wire) == "compensated"
    assert Product.objects.get().stock == 100
    assert Alert.objects.filter(code="process_compensating").count() == 1
    assert callbacks.complete_step(large.process_id, "review", {}, actor="ann") == Outcome.IGNORED


def test_a_worker_that_dies_while_asking_ends_no_order(wire, sandbox):
    """Only an unanswered question is final, not a question that was never asked."""
    order = place(10)
    scheduler.advance()
    for _ in range(50):
        review = only(order.process, "review")
        if review.started_at is not None:
            break
        wire.deliver(wire.messages[0])
    wire.drop_all()
    pass_time(40)
    supervisor.sweep()
    pass_time(400)
    wire.run_until_idle()

    review = only(order.process, "review")
    assert (review.state, review.failure_count) == ("processing", 1)
    assert review.deferral is not None


def test_the_buyers_cancellation_does_not_wait_for_the_review(large, wire, sandbox):
    operations.undo(large.process_id, outcome="cancelled", actor="buyer", reason="")
    assert end(large, wire) == "cancelled"
    assert Product.objects.get().stock == 100
