"""What the store says of the orders of one run, and of no others."""

from typing import Any

import pytest
from django.utils import timezone

from orders.models import Order
from sasproject.demo import figures
from sasproject.demo.cohort import TROUBLES, Cohort
from tests.factories import AlertFactory, OrderFactory, ProcessFactory, StepFactory
from workers.models import Journal
from workers.states import FINAL_PROCESS_STATES, OPEN_PROCESS_STATES, ProcessState

pytestmark = pytest.mark.django_db


def order(state: str = "processing", reference: str = "demo-1", **columns: Any) -> Order:
    finished_at = timezone.now() if state in FINAL_PROCESS_STATES else None
    process = ProcessFactory(state=state, finished_at=finished_at)
    made: Order = OrderFactory(process=process, reference=reference, **columns)
    return made


def note(order: Order, event: str) -> None:
    Journal.objects.create(process=order.process, event=event, actor="test", at=timezone.now())


def alert(order: Order) -> None:
    now = timezone.now()
    AlertFactory(
        cause=f"process_error:{order.pk}",
        message="failed for good",
        process=order.process,
        raised_at=now,
    )


@pytest.fixture
def cohort() -> Cohort:
    """The orders of demo-1, beside one of demo-2 to which everything happened."""
    other = order("error", "demo-2")
    StepFactory(process=other.process, started=True, fault={"kind": "transient"})
    note(other, "failed")
    alert(other)
    return Cohort("demo-1")


def test_states(cohort):
    first, second = order("processed"), order("error")
    assert cohort.states() == {first.number: "processed", second.number: "error"}


def test_alerted(cohort):
    told, _ = order("error"), order("error")
    alert(told)
    assert cohort.alerted() == {told.number}


@pytest.mark.parametrize("event", TROUBLES)
def test_troubled(cohort, event):
    troubled, smooth = order(), order()
    for usual in ("submitted", "claimed", "processed"):
        note(smooth, usual)
        note(troubled, usual)
    note(troubled, event)
    note(troubled, event)
    assert cohort.troubled() == {troubled.number}


def test_open_orders_move_and_so_does_an_attempt_of_one_in_error(cohort):
    moving = {order(str(state)).number for state in OPEN_PROCESS_STATES}
    order("processed")
    failed = order("error")
    StepFactory(process=failed.process, error=True)
    StepFactory(process=failed.process, pending=True)
    assert cohort.moving() == moving
    StepFactory(process=failed.process, started=True)
    assert cohort.moving() == moving | {failed.number}


def test_failing_counts_open_orders_that_try_again(cohort):
    trying, undoing = order(), order("compensating")
    fine, held = order(), order("error")
    StepFactory(process=undoing.process, pending=True, fault={"kind": "transient"})
    StepFactory(process=trying.process, pending=True, fault={"kind": "transient"})
    StepFactory(process=trying.process, started=True, fault={"kind": "expired"})
    StepFactory(process=fine.process, pending=True)
    StepFactory(process=held.process, pending=True, fault={"kind": "transient"})
    assert cohort.failing() == 2


def test_an_agent_is_calling_once_it_has_started(cohort):
    process = order().process
    assert not cohort.is_calling("payment.charge")
    StepFactory(process=process, started=True, agent="payment.charge")
    assert cohort.is_calling("payment.charge")
    assert not cohort.is_calling("billing.issue")


def test_figures_while_the_run_goes_on(cohort):
    done, open_one, told, untold = (
        order(state) for state in ("processed", "pending", "error", "error")
    )
    alert(told)
    note(done, "expired")
    note(open_one, "failed")
    accepted = [done.number, open_one.number, told.number, untold.number, 10_000]
    found = figures.read(cohort, accepted, kills=2, duplicates=0)
    assert (found.placed, found.of("processed"), found.open, found.of("error")) == (5, 1, 1, 2)
    # The one that nobody was told of, and the one that the store does not have.
    assert (found.lost, found.recovered, found.kills) == (2, 1, 2)
    assert found.of("compensated") == 0


@pytest.mark.parametrize("state", ProcessState)
def test_only_an_order_in_error_can_be_lost(cohort, state):
    """A refused order that is being undone is on its way: nobody is told, and nothing is lost."""
    found = figures.read(cohort, [order(str(state)).number], kills=0, duplicates=0)
    assert found.lost == (state == ProcessState.ERROR)
    assert found.open == (state in OPEN_PROCESS_STATES)
    assert (state in FINAL_PROCESS_STATES) == (not found.lost and not found.open)
