"""The index: what needs an operator, and the engine's own lists."""

import re
from datetime import timedelta

from django.utils import timezone

from tests.admin.conftest import alert_about, order_in_error, order_with
from tests.factories import ProcessFactory, SinkFactory
from workers.models import Lease, Sink
from workers.store import alerts, leases
from workers.store.db import dialect
from workers.supervisor import beat_schedule


def sweep_and_poll(seconds_ago: float = 0) -> None:
    at = dialect.read_clock() - timedelta(seconds=seconds_ago)
    for name in (leases.SWEEP, leases.POLL):
        Lease.objects.update_or_create(name=name, defaults={"performed_at": at})


def test_it_counts_what_waits(operator):
    sweep_and_poll()
    alert_about(order_in_error())
    order_in_error()
    order_with("processed")

    html = operator.get("/admin/").content.decode()

    for told in ("What needs you", "orders in error", "worth 74.00", "open alert", "Last sweep"):
        assert told in html, told
    assert "/admin/orders/order/?needs=error" in html
    assert "/admin/workers/alert/?is=open" in html
    assert "overdue: are worker and beat running?" not in html


def test_what_is_in_error_beside_orders_has_a_tile(operator):
    order_in_error()
    assert "of any workflow" not in operator.get("/admin/").content.decode()
    ProcessFactory.create_batch(2, state="error")
    html = operator.get("/admin/").content.decode()
    assert re.search(r"3</strong>\s+processes in error", html)
    found = operator.get("/admin/workers/process/?needs=error").context["cl"].result_list
    assert len(found) == 3


def test_receivers_that_cannot_be_told_have_a_tile(operator):
    assert "told no more" not in operator.get("/admin/").content.decode()
    sink = SinkFactory(
        process=order_in_error().process, kind="webhook", address="https://a.test", last=2, tries=3
    )
    html = operator.get("/admin/").content.decode()
    assert "sink failing" in html
    assert "each is tried again by itself" in html
    Sink.objects.filter(pk=sink.pk).update(cursor=2)
    assert "sink failing" not in operator.get("/admin/").content.decode()
    alerts.raise_alert("sink_undeliverable", params={"says": []}, subject="acme:1")
    assert "receiver told no more" in operator.get("/admin/").content.decode()


def test_a_sweep_long_ago_is_told(operator):
    sweep_and_poll(seconds_ago=300)
    html = operator.get("/admin/orders/order/needs/").content.decode()
    assert html.count("overdue: are worker and beat running?") == 2
    assert "5 min" in html


def test_a_fresh_system_says_never(viewer):
    html = viewer.get("/admin/").content.decode()
    assert html.count("never") == 2
    assert html.count("none is waiting") == 3


def test_leases_tell_the_last_sweep(operator, monkeypatch):
    monkeypatch.setattr(dialect, "frozen_at", timezone.now())
    sweep_and_poll(seconds_ago=7)
    html = operator.get("/admin/workers/lease/").content.decode()
    assert "7 s ago" in html
    assert "nobody now" in html


def test_flow_counts_the_steps_of_each_agent(operator):
    beat_schedule.ensure_flow()
    order_in_error()
    order_with(charge_payment="started")
    rows = operator.get("/admin/workers/flow/").context["cl"].result_list
    counts = {row.agent: row.counts for row in rows}
    assert counts["payment.charge"] == {"pending": 0, "processing": 1, "error": 1}
    assert counts["stock.reserve"] == {"pending": 0, "processing": 0, "error": 0}


def test_a_list_counts_what_its_rows_are(operator):
    beat_schedule.ensure_flow()
    html = operator.get("/admin/workers/flow/").content.decode()
    assert re.search(r"\d+ agents", html)
    assert re.search(r"\d+ acts", operator.get("/admin/workers/act/").content.decode())


def test_processes_are_found_by_subject_and_key(operator):
    order = order_in_error()
    order_with()
    for term in (str(order), f"{order.process.uid.hex}:1:1", str(order.process.uid)):
        rows = operator.get("/admin/workers/process/", {"q": term}).context["cl"].result_list
        assert [row.pk for row in rows] == [order.process_id]
