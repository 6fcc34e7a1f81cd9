"""The picture as it is read from the store, the stack and the demo's voice."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from sasproject.demo import scene
from sasproject.demo.cohort import Cohort
from sasproject.demo.figures import Figures
from sasproject.demo.scene import Scene
from sasproject.demo.voice import Voice
from tests.factories import OrderFactory, ProcessFactory, StepFactory
from workers.models import Journal, Step

pytestmark = pytest.mark.django_db


def order(state: str = "processing", **step: Any) -> Any:
    made = OrderFactory(process=ProcessFactory(state=state), reference="demo-1")
    StepFactory(process=made.process, name="charge_payment", **(step or {"processed": True}))
    return made


@pytest.fixture
def run() -> Any:
    return SimpleNamespace(
        cohort=Cohort("demo-1"),
        voice=Voice(None),
        chaos=SimpleNamespace(roles=lambda: {"agents": [1, 2]}, restarts={"agents": 1}),
        faults=SimpleNamespace(is_payment_down=True),
    )


def read(run: Any, rows: int = 4, events: int = 5) -> Scene:
    return scene.read(run, Figures(), rows=rows, events=events, is_ending=False)


def test_the_newest_come_first_and_old_ones_that_still_try_stay(run):
    trying = order(pending=True, fault={"kind": "transient"})
    done = [order("processed") for _ in range(6)]
    numbers = [row.number for row in read(run).rows]
    assert numbers == [done[5].number, done[4].number, done[3].number, trying.number]


def test_fewer_orders_than_rows(run):
    only = order(pending=True)
    (row,) = read(run).rows
    assert row.number == only.number
    assert row.customer == only.customer_name
    assert row.steps["payment"].text == "next"
    assert row.says.text == "payment, waiting its turn"


def test_events_of_orders_and_of_processes_are_mixed(run):
    made = order()
    detail = {"step": "charge_payment", "fault": {"message": "answered 500"}}
    for event in ("submitted", "failed"):
        Journal.objects.create(
            process=made.process, event=event, actor="t", at=timezone.now(), detail=detail
        )
    run.voice.tell("kill -9 agents")
    says = [what for _, what in read(run).events]
    assert says == ["kill -9 agents", f"{made.process.subject}: payment failed, answered 500"]
    assert len(read(run, events=1).events) == 1


def test_what_was_pressed_stays_while_a_kill_has_claims_sent_again(run):
    made = order()
    run.voice.tell("review: order 7 of 1200.00 approved")
    for event in ["lost"] * 20 + ["failed"] * 10:
        Journal.objects.create(
            process=made.process, event=event, actor="t", at=timezone.now(), detail={}
        )

    says = [what for _, what in read(run).events]

    assert len(says) == 5
    assert says[-1] == "review: order 7 of 1200.00 approved"
    assert set(says[:-1]) == {f"{made.process.subject}: failed"}


def test_what_was_pressed_long_ago_gives_way(run):
    made = order()
    run.voice.messages.append((timezone.now() - timedelta(minutes=1), "kill -9 agents"))
    for _ in range(5):
        Journal.objects.create(
            process=made.process, event="failed", actor="t", at=timezone.now(), detail={}
        )

    assert "kill -9 agents" not in [what for _, what in read(run).events]


def test_a_step_that_undoes_has_no_column(run):
    made = order("compensating", processed=True)
    done = Step.objects.get(process=made.process)
    StepFactory(process=made.process, name="refund_payment", undoes=done, pending=True)
    (row,) = read(run).rows
    assert list(row.steps) == ["payment"]
    assert row.says.text == "UNDOING: refund, waiting its turn"


def test_a_step_that_an_order_does_without_is_no_event(run):
    made = order()
    for before in ("waiting", "processing", "error"):
        Journal.objects.create(
            process=made.process,
            event="skipped",
            before=before,
            actor="t",
            at=timezone.now(),
            detail={"step": "review", "reason": before},
        )
    says = [what.rpartition(", ")[2] for _, what in read(run).events]
    assert says == ["error", "processing"]


def test_an_event_without_a_step_has_one_space(run):
    about = order(state="error").process
    Journal.objects.create(
        process=about, event="error", actor="scheduler", at=timezone.now(), detail={}
    )
    assert f"{about.subject}: error" in [what for _at, what in read(run).events]


def test_the_rest_is_passed_on(run):
    found = read(run)
    assert (found.rows, found.roles, found.restarts) == ([], {"agents": [1, 2]}, {"agents": 1})
    assert found.is_payment_down
