"""The pattern's own example, stage by stage.

Nine orders; the payment service fails every order whose number divides by 3; the threshold
is 3.  Once it answers with a fault, once it is silent and only the Supervisor acts.  After
every stage the state store and the queues are compared whole.
"""

import json
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from orders.models import Order, Product
from orders.sandbox.server import Sandbox
from tests.factories import placed
from tests.integration.conftest import begin, calls_on
from workers import supervisor
from workers.client import operations
from workers.models import Alert, Journal, Process, Step
from workers.testing import Wire, frozen_clock, pass_time
from workers.testing.agent_processes import CALL, REPLY

DOOMED = 3
EXHAUSTED = 3


def switch(sandbox: Sandbox, **faults: Any) -> None:
    request = urllib.request.Request(
        f"{sandbox.url}/payment/faults", json.dumps(faults).encode(), method="PUT"
    )
    urllib.request.urlopen(request).close()


def charges(sandbox: Sandbox) -> Counter[int]:
    with urllib.request.urlopen(f"{sandbox.url}/payment/ledger") as answer:
        return Counter(effect["order"] for effect in json.load(answer)["effects"])


def nine_orders() -> list[Order]:
    """Place nine orders with successive numbers, of which three divide by 3.

    Without their notices to the buyer, which the walk does not follow.
    """
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=1000)
    orders = [placed(key=f"key-{n}") for n in range(9)]
    Process.objects.filter(workflow="notice").delete()
    return orders


def payments(doomed: bool | None = None) -> list[Step]:
    """Return the payment steps: all, those of doomed orders, or the others."""
    steps = Step.objects.filter(name="charge_payment").select_related("process").order_by("pk")
    return [s for s in steps if doomed is None or is_doomed(s.process) is doomed]


def is_doomed(process: Process) -> bool:
    return process.input["number"] % DOOMED == 0


def claim_columns(step: Step) -> tuple[Any, ...]:
    return (step.claim_id, step.locked_by, step.started_at, step.complete_by)


def on_the_wire(wire: Wire) -> Counter[str]:
    return Counter(message.task for message in wire.messages)


def expect_everything_pending(wire: Wire) -> None:
    """Stage 1: accepted. Nobody has claimed anything and nothing is on its way."""
    assert set(Process.objects.values_list("state", "needs_decision")) == {("pending", False)}
    first = Step.objects.filter(name="reserve_stock")
    assert {(s.state, claim_columns(s), s.failure_count) for s in first} == {
        ("pending", (None,) * 4, 0)
    }
    others = Step.objects.exclude(name="reserve_stock")
    assert {(s.state, claim_columns(s), s.failure_count) for s in others} == {
        ("waiting", (None,) * 4, 0)
    }
    assert on_the_wire(wire) == {}


def expect_claimed(wire: Wire, steps: list[Step], timeout: int) -> None:
    """Stage 2: claimed and started in one write, by the processes that call."""
    for step in steps:
        expect_started(step, timeout)
        assert step.failure_count == 0
    requests = [work.request for work in calls_on(wire)]
    assert {(one.step_id, one.claim_id) for one in requests} == {
        (step.pk, step.claim_id) for step in steps
    }
    assert len(requests) == len(steps)


def expect_started(step: Step, timeout: int) -> None:
    """Stage 3: an agent has it, and its clock runs."""
    assert step.state == "processing"
    assert step.claim_id is not None
    assert step.locked_by.startswith("agent@")
    assert step.started_at is not None
    assert (step.complete_by - step.started_at).total_seconds() == pytest.approx(timeout, abs=0.01)


def expect_reset(step: Step, failures: int) -> None:
    """Stage 4: given up for now. Anybody may claim it again once its backoff is over."""
    assert (step.state, step.failure_count, claim_columns(step)) == (
        "pending",
        failures,
        (None,) * 4,
    )
    assert step.not_before is not None


def expect_in_error(wire: Wire) -> None:
    """Stage 5: past the threshold. In front of an operator, and left alone."""
    for step in payments(doomed=True):
        assert (step.state, step.failure_count, claim_columns(step)) == (
            "error",
            EXHAUSTED,
            (None,) * 4,
        )
        assert step.process.state == "error"
        assert step.attempt == EXHAUSTED
    alerts = Alert.objects.values_list("code", "process_id", "times")
    assert sorted(alerts) == sorted(
        ("process_error", step.process_id, 1) for step in payments(doomed=True)
    )
    # Their buyers are told.
    wire.run_until_idle()
    claims_before = Journal.objects.filter(event="claimed").count()
    pass_time(3600)
    supervisor.sweep()
    wire.run_until_idle()
    assert Journal.objects.filter(event="claimed").count() == claims_before
    assert Alert.objects.count() == len(payments(doomed=True))


def expect_the_others_processed(sandbox: Sandbox) -> None:
    others = [process for process in Process.objects.all() if not is_doomed(process)]
    assert {process.state for process in others} == {"processed"}
    assert charges(sandbox) == {process.input["number"]: 1 for process in others}


def resubmit_and_expect_all_processed(wire: Wire, sandbox: Sandbox) -> None:
    """Stage 6: the fault is gone and an operator resubmits."""
    switch(sandbox)
    for step in payments(doomed=True):
        operations.resubmit(step.process_id, actor="operator:ann", reason="payment is back")
    resubmitted = payments(doomed=True)
    assert {(s.state, s.failure_count, claim_columns(s)) for s in resubmitted} == {
        ("pending", 0, (None,) * 4)
    }

    wire.run_until_idle()

    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
    others = Step.objects.exclude(name="review")
    assert set(others.values_list("state", flat=True)) == {"processed"}
    numbers = [process.input["number"] for process in Process.objects.all()]
    assert charges(sandbox) == dict.fromkeys(numbers, 1)
    assert on_the_wire(wire) == {}


def walk_to_the_payment(wire: Wire, timeout: int) -> None:
    """Take all nine orders through stage 1 and 2 to their claimed payment steps."""
    expect_everything_pending(wire)
    begin(wire)
    expect_claimed(wire, list(Step.objects.filter(name="reserve_stock")), timeout)
    wire.deliver_all(CALL)
    expect_claimed(wire, payments(), timeout)


@pytest.fixture
def noon() -> Iterator[None]:
    """Have no backoff be over before the test says so, however slow the machine is."""
    with frozen_clock(timezone.now()):
        yield


def test_a_service_that_answers_with_a_fault(wire, sandbox, noon):
    switch(sandbox, fail_every=DOOMED)
    nine_orders()
    walk_to_the_payment(wire, 30)

    wire.deliver_all(CALL)
    for step in payments():
        expect_started(step, 30)
    assert set(on_the_wire(wire)) == {REPLY}

    wire.run_until_idle()
    expect_the_others_processed(sandbox)
    for failures in (1, 2):
        for step in payments(doomed=True):
            expect_reset(step, failures)
        assert not Alert.objects.exists()
        pass_time(10)
        wire.run_until_idle()

    expect_in_error(wire)
    assert not Journal.objects.filter(event="expired").exists()
    resubmit_and_expect_all_processed(wire, sandbox)


@override_settings(SAS_STEP_TIMEOUT_SECONDS=1)
def test_a_service_that_is_silent(wire, sandbox):
    switch(sandbox, hang_every=DOOMED)
    nine_orders()
    walk_to_the_payment(wire, 1)

    for failures in (1, 2, 3):
        wire.deliver_all(CALL)
        for step in payments(doomed=True):
            expect_started(step, 1)
            assert step.failure_count == failures - 1
        wire.run_until_idle()
        expect_the_others_processed(sandbox)
        # Nothing but the Supervisor ends a silence.
        for step in payments(doomed=True):
            assert step.state == "processing"
        pass_time(3)
        swept = supervisor.sweep()
        assert (swept.reset, swept.errors) == ((3, 0) if failures < EXHAUSTED else (0, 3))
        if failures < EXHAUSTED:
            for step in payments(doomed=True):
                expect_reset(step, failures)
            assert not Alert.objects.exists()
            pass_time(10)
        begin(wire)

    expect_in_error(wire)
    assert Journal.objects.filter(event="expired").count() == 3 * EXHAUSTED
    assert not Journal.objects.filter(event="failed").exists()
    resubmit_and_expect_all_processed(wire, sandbox)
