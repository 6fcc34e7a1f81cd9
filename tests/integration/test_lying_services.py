"""A service does what it is asked and denies it: whatever people do, no sum stays unexplained."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from orders.invariants import Ledgers, violations
from orders.models import Order
from tests.chaos.test_books import unexplained
from tests.integration.test_shop_undo import order, run, switch
from workers import Refused, StateError, fail_step, scheduler
from workers.agent import replies
from workers.client import answers, operations
from workers.models import Step
from workers.testing import Wire
from workers.testing.agent_processes import CALL

__all__ = ["order"]

STEPS = {"payment": "charge_payment", "shipping": "book_shipment", "billing": "issue_invoice"}
SERVICES = ["payment", *(pytest.param(name, marks=pytest.mark.volume) for name in [*STEPS][1:])]
WORD = {"actor": "operator:ann", "reason": "asked"}


def cancel(order: Order, step: str) -> None:
    operations.undo(order.process_id, outcome="cancelled", **WORD)


def compensate(order: Order, step: str) -> None:
    operations.undo(order.process_id, outcome="compensated", **WORD)


def decline(order: Order, step: str) -> None:
    answers.by_person(order.process_id, step, Refused("declined", "no"), actor="operator:ann")


def approve(order: Order, step: str) -> None:
    answers.by_person(order.process_id, step, {"approved": True}, actor="operator:ann")


def nothing(order: Order, step: str) -> None:
    """Let it go on."""


ACTS = [cancel, compensate, decline, approve, nothing]
LIES = [{"lie_rate": 1, "lie_statuses": [status]} for status in (503, 303, 400)]
LIES += [{"garbage_rate": 1}, {"drop_after_effect_rate": 1}]


def act_on(act: Callable[[Order, str], None], order: Order, step: str) -> None:
    """Act as a person does, who may be refused."""
    with suppress(StateError):
        act(order, step)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("lie", LIES, ids=str)
@pytest.mark.parametrize("service", SERVICES)
def test_a_person_acts_after_a_lie(wire, sandbox, order, service, lie, act):
    switch(sandbox, service, lie)
    wire.run_until_idle()
    act_on(act, order, STEPS[service])
    switch(sandbox, service, {})

    run(wire)

    assert unexplained(sandbox) == []


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(
    "faults",
    [{}, *LIES[:3], {"fail_every": 1, "error_status": 402}],
    ids=["done", "503", "303", "400", "refused"],
)
@pytest.mark.parametrize("service", SERVICES)
def test_a_person_acts_while_a_call_is_under_way(wire, sandbox, order, service, faults, act):
    switch(sandbox, service, faults)
    until_at_work(wire, STEPS[service])
    act_on(act, order, STEPS[service])
    wire.run_until_idle()
    switch(sandbox, service, {})

    run(wire)

    assert unexplained(sandbox) == []


@pytest.mark.parametrize("act", ACTS)
def test_a_person_acts_while_what_was_reserved_is_not_yet_read(
    wire, sandbox, order, act, monkeypatch
):
    with monkeypatch.context() as slow:
        slow.setattr(replies, "hand_over_filed", lambda step_ids, settle_here: None)
        until_at_work(wire, "reserve_stock")
    assert Step.objects.get(name="reserve_stock").reply
    act_on(act, order, "reserve_stock")

    run(wire)

    assert unexplained(sandbox) == []


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("service", SERVICES)
def test_an_event_and_then_a_person_answer_what_was_never_done(wire, sandbox, order, service, act):
    switch(sandbox, service, {"error_rate": 1})
    until_at_work(wire, STEPS[service])
    fail_step(order.process_id, STEPS[service], Refused("declined", "no"), actor="service:bank")
    wire.run_until_idle()
    act_on(act, order, STEPS[service])
    wire.run_until_idle()
    switch(sandbox, service, {})

    run(wire)

    assert unexplained(sandbox) == []


@pytest.mark.parametrize("service", SERVICES)
def test_an_undo_that_was_carried_out_and_denied_is_an_operators_and_no_violation(
    wire, sandbox, order, service
):
    until_at_work(wire, STEPS[service])
    cancel(order, STEPS[service])
    switch(sandbox, service, LIES[2])
    run(wire)

    order.process.refresh_from_db()
    assert order.process.state == "error"
    assert unexplained(sandbox) == []
    assert violations(Ledgers.read(sandbox.url)) == []


@pytest.mark.parametrize("late", [approve, decline])
@pytest.mark.parametrize("service", SERVICES)
def test_an_answer_comes_after_the_undo(wire, sandbox, order, service, late):
    until_at_work(wire, STEPS[service])
    cancel(order, STEPS[service])
    run(wire)
    act_on(late, order, STEPS[service])
    run(wire)

    assert unexplained(sandbox) == []


def until_at_work(wire: Wire, step: str) -> None:
    """Go on until a call of a step has been made and its answer is under way."""
    for _ in range(50):
        if not wire.messages:
            scheduler.advance()
        message = wire.messages[0]
        wire.deliver(message)
        if message.task == CALL and step in {work.request.step for work in message.works}:
            return
    pytest.fail(f"{step} was never at work")
