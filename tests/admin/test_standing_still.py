"""What stands still without having failed: paused orders, open breakers, and numbers that lead."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Order
from tests.admin.conftest import order_in_error, order_with, staff
from workers.desk.admin import standstill
from workers.desk.admin.piles import Pile
from workers.models import Flow, Lease, Process
from workers.store import leases
from workers.supervisor import beat_schedule

ORDERS = "/admin/orders/order/"
PROCESSES = "/admin/workers/process/"
FLOW = "/admin/workers/flow/"
LEASES = "/admin/workers/lease/"


def listed(client: Client, url: str) -> set[int]:
    return {row.pk for row in client.get(url).context["cl"].result_list}


def paused(**columns: Any) -> Process:
    process = order_with(reserve_stock="pending").process
    Process.objects.filter(pk=process.pk).update(paused_at=timezone.now(), **columns)
    return process


def test_a_paused_order_is_marked_and_found(operator):
    going = order_with(reserve_stock="pending")
    assert "paused</span>" not in operator.get(ORDERS).content.decode()
    process = paused()
    over = paused(state="processed", finished_at=timezone.now())
    numbers = dict(Order.objects.values_list("process", "number"))

    assert listed(operator, f"{PROCESSES}?paused=yes") == {process.pk}
    assert listed(operator, f"{ORDERS}?paused=yes") == {numbers[process.pk]}
    html = operator.get(ORDERS).content.decode()
    assert html.count("paused</span>") == 1
    marked = {
        pk: "paused</span>" in operator.get(f"{ORDERS}{number}/change/").content.decode()
        for pk, number in numbers.items()
    }
    assert marked == {going.process_id: False, process.pk: True, over.pk: False}


def test_the_index_tells_of_paused_orders_and_of_services_that_are_not_called(operator):
    beat_schedule.ensure_flow()
    html = operator.get("/admin/").content.decode()
    assert "no breaker is open" in html
    assert "paused=yes" not in html

    now = timezone.now()
    since = {"opened_at": now - timedelta(minutes=7), "open_until": now + timedelta(seconds=20)}
    Flow.objects.filter(agent="payment.charge").update(**since)
    Flow.objects.filter(agent="billing.issue").update(**since, forced="closed")
    order_with(charge_payment="pending")
    order_with(charge_payment="started")
    paused()

    html = operator.get(f"{ORDERS}needs/").content.decode()
    for told in ("service not called", "breaker open for", "7 min", "1 step waits for it"):
        assert told in html, told
    assert "order paused" in html
    assert f"{ORDERS}?paused=yes" in html
    Flow.objects.update(opened_at=None, open_until=None, forced="open")
    assert "breaker forced open" in operator.get(f"{ORDERS}needs/").content.decode()


def test_parked_steps_are_counted_up_to_a_bound(monkeypatch):
    beat_schedule.ensure_flow()
    Flow.objects.filter(agent="payment.charge").update(forced="open")
    for _ in range(3):
        order_with(charge_payment="pending")
    assert standstill.outages(Pile(1)).shown == "3"
    monkeypatch.setattr(standstill, "MOST", 2)
    assert standstill.outages(Pile(1)).shown == "2+"


def test_who_may_not_see_the_flow_sees_no_outages():
    somebody = staff("somebody")
    assert "no breaker is open" in somebody.get("/admin/").content.decode()
    user = somebody.get("/admin/").wsgi_request.user
    user.user_permissions.clear()
    html = somebody.get("/admin/").content.decode()
    assert "no breaker is open" not in html


def test_each_number_of_the_flow_leads_to_the_processes_behind_it(operator):
    beat_schedule.ensure_flow()
    behind = {
        "processing": order_with(charge_payment="started").process_id,
        "pending": order_with(charge_payment="pending").process_id,
        "error": order_in_error().process_id,
    }
    asked = order_with(charge_payment={"started": True, "deferral": {"since": "x"}})

    html = operator.get(FLOW).content.decode()

    for state, process_id in behind.items():
        url = f"{PROCESSES}?at={state}%3Apayment.charge"
        assert url in html
        assert listed(operator, url) == {process_id}
    assert asked.process_id not in listed(operator, f"{PROCESSES}?at=processing%3Apayment.charge")
    assert f"{PROCESSES}?at=pending%3Ashipping.book" not in html
    for unknown in ("x", "processed:payment.charge", ":"):
        assert listed(operator, f"{PROCESSES}?at={unknown}") == set()
    assert "in flight </span>" in html, "on a phone the heads of the table are not seen"


def test_the_flow_counts_no_step_that_an_order_was_undone_for(operator):
    beat_schedule.ensure_flow()
    undone = order_in_error()
    Process.objects.filter(pk=undone.process_id).update(
        state="compensated", outcome="compensated", finished_at=timezone.now()
    )
    assert "?at=error%3Apayment.charge" not in operator.get(FLOW).content.decode()

    order_in_error()
    html = operator.get(FLOW).content.decode()
    assert '>1<span class="visually-hidden"> in error, payment.charge</span>' in html


def test_who_may_not_see_processes_gets_no_links_to_them():
    beat_schedule.ensure_flow()
    order_with(charge_payment="pending")
    somebody = staff("somebody")
    user = somebody.get("/admin/").wsgi_request.user
    user.user_permissions.remove(*user.user_permissions.filter(codename="view_process"))
    assert "?at=" not in somebody.get(FLOW).content.decode()


def test_only_late_duty_is_marked_overdue(operator):
    now = timezone.now()
    Lease.objects.create(name=leases.SWEEP, performed_at=now, expires_at=now - timedelta(hours=1))
    Lease.objects.create(name=leases.POLL, performed_at=now)
    Lease.objects.create(name="prune", performed_at=now - timedelta(hours=2))
    html = operator.get(LEASES).content.decode()
    assert "sas-over" not in html
    assert "data-alarm" not in html
    assert "overdue" not in html
    Lease.objects.filter(name=leases.POLL).update(performed_at=now - timedelta(seconds=30))
    assert operator.get(LEASES).content.decode().count("overdue") == 1


def test_a_deadline_that_has_passed_is_red(operator):
    began = timezone.now() - timedelta(minutes=5)
    order_with(charge_payment={"started": True, "started_at": began})
    html = operator.get(ORDERS).content.decode()
    assert 'class="sas-countdown sas-over" data-alarm' in html


def test_deferred_step_shows_no_holder(operator):
    order = order_with(charge_payment={"started": True, "deferral": {"since": "x"}})
    assert "worker@" not in operator.get(ORDERS).content.decode()
    page = operator.get(f"{ORDERS}{order.number}/change/").content.decode()
    assert "worker@" not in page


def zone_of(page: str) -> str:
    """Return the time zone that a page says its times are in."""
    return re.findall(r"All times are <a [^>]*>([^<]*)</a>", page)[0]


@pytest.mark.parametrize("url", ["/admin/", ORDERS, FLOW, PROCESSES])
def test_each_page_says_which_time_zone_its_times_are_in(operator, url):
    assert zone_of(operator.get(url).content.decode()) == "UTC"


def test_every_time_says_its_zone(operator, settings):
    order = order_with(charge_payment="started")
    page = operator.get(f"{ORDERS}{order.number}/change/").content.decode()
    assert " UTC</time>" in page
    settings.TIME_ZONE = "Asia/Tokyo"
    page = operator.get(f"{ORDERS}{order.number}/change/").content.decode()
    assert " JST</time>" in page
    assert zone_of(page) == "Asia/Tokyo"


def test_the_search_field_has_a_label_that_is_seen(operator):
    for url in (ORDERS, PROCESSES, FLOW):
        html = operator.get(url).content.decode()
        assert '<label for="searchbar">Search</label>' in html, url
