"""Why an order waits is one text: in the admin's list and page, in the terminal, and in the API."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import escape

from orders.api import reading
from orders.models import Order
from tests.admin import toys
from tests.admin.conftest import alert_about, order_with
from tests.toyflow import agents as toy
from workers.client import operations, progress
from workers.exceptions import Transient
from workers.models import Alert, Flow, Hold, Lease, Process
from workers.ops import wait_facts
from workers.runtime.timestamps import moment
from workers.store import alerts, leases
from workers.store.flow import holds
from workers.supervisor import beat_schedule

NOW = timezone.now().replace(microsecond=0)


@pytest.fixture(autouse=True)
def running() -> None:
    """A system in which nothing but a test keeps orders waiting."""
    beat_schedule.ensure_flow()
    for name in (leases.SWEEP, leases.POLL):
        Lease.objects.create(name=name, performed_at=timezone.now())


def waiting() -> Order:
    return order_with(reserve_stock="processed", charge_payment="pending")


def set_flow(**columns: Any) -> None:
    Flow.objects.filter(agent="payment.charge").update(**columns)


def away() -> None:
    set_flow(opened_at=NOW - timedelta(minutes=5), open_until=NOW + timedelta(hours=1))


def silent() -> None:
    Lease.objects.update(performed_at=timezone.now() - timedelta(minutes=5))


def unknown() -> None:
    alerts.raise_alert("unknown_definition", "x", subject="workflow:fulfilment:1")


def unknown_of_a_process() -> None:
    alert_about(waiting(), code="unknown_definition")


def held() -> None:
    holds.hold("step", "charge_payment", actor="operator:ann", reason="stocktaking")


def full() -> None:
    set_flow(window=1)
    order_with(reserve_stock="processed", charge_payment="started")


def slow() -> None:
    set_flow(rate_per_second=0.001, tokens=0, refilled_at=timezone.now())


CASES: list[tuple[Callable[[], None], str | Callable[[datetime], str]]] = [
    # A day is named where it is not today, and a run may go on past midnight.
    (away, lambda now: f"not been reached since {moment(NOW - timedelta(minutes=5), now)} and"),
    (away, lambda now: f"next probe at {moment(NOW + timedelta(hours=1), now)}"),
    (silent, "no Scheduler has looked for work for 3"),
    (unknown, "waits for a worker that knows workflow fulfilment version 1: bring the code"),
    (unknown_of_a_process, "waits for a worker that knows workflow fulfilment version 1"),
    (held, "waits until operators lift the hold on steps called charge_payment"),
    (full, "waits for room at agent payment.charge: 1 of 1 requests are in flight"),
    (slow, "waits for its turn: agent payment.charge takes 0.001 a second at most"),
]


@pytest.mark.parametrize(
    ("happen", "text"),
    CASES,
    ids=[f"{place}-{happen.__name__}" for place, (happen, _) in enumerate(CASES)],
)
def test_every_place_says_the_same(operator, happen, text):
    text = text if isinstance(text, str) else text(timezone.now())
    order = waiting()
    happen()

    out = StringIO()
    call_command("order", "show", str(order.number), stdout=out)
    call_command("sas", "process", "show", str(order.process_id), stdout=out)
    call_command("order", "show", str(order.number), "--json", stdout=out)
    *plain, facts = out.getvalue().strip().splitlines()
    listed = operator.get("/admin/orders/order/").content.decode()
    page = operator.get(f"/admin/orders/order/{order.number}/change/").content.decode()

    assert sum(text in line for line in plain if line.startswith("charge_payment")) == 4
    assert text in json.loads(facts)["headline"]
    assert escape(text) in listed
    assert escape(text) in page
    assert text in reading.detail(order).headline


def test_a_step_waits_for_what_has_not_ended(wire):
    toy.script["toy.beta"] = toys.raises(Transient("busy", "answered 500"))
    process = toys.begun(wire, "toy_diamond")
    said = {one.name: one.explanation for one in progress.snapshot(process.pk).steps}
    assert said["bottom"] == "waits for left"


def test_a_submitter_is_not_told_who_holds_or_paused_something():
    order = waiting()
    held()
    inside = progress.snapshot(order.process_id).headline
    assert "(by operator:ann: stocktaking)" in inside
    operations.pause(order.process_id, actor="operator:ann", reason="stocktaking")
    inside = progress.snapshot(order.process_id).headline
    assert inside.startswith("Paused since ")
    assert "(by operator:ann: stocktaking)" in inside
    shown = reading.detail(order)
    assert shown.headline.startswith("Paused since ")
    assert "ann" not in shown.model_dump_json()
    assert "stocktaking" not in shown.model_dump_json()


def test_an_outage_is_said_of_every_order_in_one_statement(operator):
    """Payment is down, 25 orders wait: each says so, and the page costs what one row costs."""
    one = waiting()
    away()
    # The first page of a session remembers the user's time zone.
    operator.get("/admin/")
    with CaptureQueriesContext(connection) as few:
        operator.get("/admin/orders/order/")
    for _ in range(24):
        waiting()
    with CaptureQueriesContext(connection) as many:
        html = operator.get("/admin/orders/order/").content.decode()
    assert html.count("its breaker is open; next probe at") == 25
    assert len(many) == len(few)
    with CaptureQueriesContext(connection) as alone:
        progress.snapshot(one.process_id)
    assert len(alone) == 3


def test_what_is_over_is_no_reason():
    away()
    held()
    set_flow(opened_at=None, open_until=None)
    Hold.objects.update(ended_at=NOW)
    unknown()
    Alert.objects.update(resolved_at=NOW)
    order = waiting()
    assert progress.snapshot(order.process_id).headline == (
        "charge_payment waits for an agent process to take it."
    )


def test_of_processes_that_are_not_paused_no_journal_is_read():
    process = Process.objects.get(pk=waiting().process_id)
    with CaptureQueriesContext(connection) as queries:
        wait_facts.read([process])
    assert len(queries) == 1
