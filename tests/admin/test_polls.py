"""A poll asks first whether anything has changed, and is told so without a row being read."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import DeadLetter, Order
from tests.admin.conftest import alert_about, note, order_in_error, poll
from tests.factories import SinkFactory
from workers.desk.admin import changes
from workers.desk.admin.lists import LiveListAdmin
from workers.desk.models import BulkJob, Delivery, Incident, Route
from workers.desk.store.incidents import collect
from workers.models import Act, Alert, Flow, Hold, Lease, Process, Schedule, Sink, UndoRequest
from workers.store.db import dialect

#: The session, the user, the rights of the user and of the groups, and the look itself; of an
#: order its process, of the index how its duties stand.
QUERIES = 6
LISTS: tuple[type[Any], ...] = (
    *(Process, Order, Alert, Hold, Flow, DeadLetter, Sink),
    *(Incident, BulkJob, Route, Delivery, Schedule, UndoRequest),
)
#: What the front pages of the shop and of the engine ask again.
NEEDS, DESK = "/admin/orders/order/needs/", "/admin/desk/incident/desk/"


@pytest.fixture(autouse=True)
def clock(monkeypatch) -> None:
    """A clock that stands still: a page is drawn anew after a while, whatever happens."""
    monkeypatch.setattr(dialect, "frozen_at", timezone.now())


def urls(order: Order) -> list[str]:
    lists = [f"/admin/{m._meta.app_label}/{m._meta.model_name}/" for m in LISTS]
    return [
        *lists,
        NEEDS,
        DESK,
        "/admin/orders/order/?state=error",
        "/admin/workers/process/causes/",
        f"/admin/orders/order/{order.number}/live/",
        f"/admin/workers/process/{order.process_id}/live/",
        f"/admin/workers/process/{order.process_id}/live/?steps=0",
    ]


def incident_url(order: Order) -> str:
    alert_about(order)
    collect()
    return f"/admin/desk/incident/{Incident.objects.get().pk}/live/"


def test_a_page_that_shows_everything_already_is_told_so(operator):
    order = order_in_error()
    for url in [*urls(order), incident_url(order)]:
        first = poll(operator, url)
        assert (first.status_code, bool(first.content)) == (200, True), url

        with CaptureQueriesContext(connection) as queries:
            again = poll(operator, url, first["X-Seen"])

        assert (again.status_code, again.content) == (204, b""), url
        assert again["X-Server-Now"], url
        assert len(queries) <= QUERIES, (url, [query["sql"] for query in queries])


def test_a_page_begins_with_what_its_first_poll_asks_about(operator):
    order = order_in_error()
    for url in (
        "/admin/",
        "/admin/workers/lease/",
        "/admin/orders/order/",
        "/admin/workers/process/causes/",
        f"/admin/orders/order/{order.number}/change/",
    ):
        page = operator.get(url).content.decode()
        seen = page.partition('data-seen="')[2].partition('"')[0]
        polled = NEEDS if url == "/admin/" else url.replace("/change/", "/live/")
        assert poll(operator, polled, seen).status_code == 204, url


def test_the_engine_s_own_front_page_does_so_too(operator, rf):
    request = rf.get("/")
    request.user = get_user_model().objects.get(username="operator")
    page = render_to_string("admin/workers/incident/front.html", request=request)
    assert (
        poll(operator, DESK, page.partition('data-seen="')[2].partition('"')[0]).status_code == 204
    )


def test_what_happens_is_shown_by_the_next_poll(operator):
    order = order_in_error()
    for number, url in enumerate(urls(order)):
        seen = poll(operator, url)["X-Seen"]
        note(order, "resubmitted", actor="operator:ann")
        journalled = poll(operator, url, seen)
        assert journalled.status_code == 200, url

        alert = alert_about(order, message=f"alert {number}")
        alerted = poll(operator, url, journalled["X-Seen"])
        assert alerted.status_code == 200, url

        now = timezone.now() + timedelta(seconds=number)
        Alert.objects.filter(pk=alert.pk).update(acknowledged_at=now)
        assert poll(operator, url, alerted["X-Seen"]).status_code == 200, url


def test_another_order_s_news_do_not_draw_a_page_anew(operator):
    order, other = order_in_error(), order_in_error()
    url = f"/admin/orders/order/{order.number}/live/"
    seen = poll(operator, url)["X-Seen"]
    note(other, "resubmitted")
    alert_about(other)
    assert poll(operator, url, seen).status_code == 204


def test_a_dead_letter_that_was_resolved_is_news(operator):
    letter = DeadLetter.objects.create(received_at=timezone.now(), body=b"{}")
    url = "/admin/orders/deadletter/"
    seen = poll(operator, url)["X-Seen"]
    DeadLetter.objects.filter(pk=letter.pk).update(state="discarded")
    assert poll(operator, url, seen).status_code == 200


def test_an_incident_that_the_sweep_ends_is_news_on_the_front_pages(operator):
    alert_about(order_in_error())
    collect()
    for url in (NEEDS, DESK):
        Incident.objects.update(state="open", resolved_at=None, members=1)
        seen = poll(operator, url)["X-Seen"]
        Incident.objects.update(members=7)
        counted = poll(operator, url, seen)
        assert counted.status_code == 200, url
        Incident.objects.update(state="resolved", resolved_at=timezone.now())
        assert poll(operator, url, counted["X-Seen"]).status_code == 200, url


def test_a_duty_that_is_late_is_news_on_the_index(operator):
    rows = [Lease(name=name, performed_at=timezone.now()) for name in ("sweep", "poll")]
    Lease.objects.bulk_create(rows)
    url = NEEDS
    seen = poll(operator, url)["X-Seen"]
    assert b"on time" in poll(operator, url).content
    Lease.objects.filter(name="sweep").update(performed_at=timezone.now() - timedelta(hours=1))
    assert poll(operator, url, seen).status_code == 200


def test_a_round_of_a_duty_is_news_among_the_leases(operator):
    row = Lease.objects.create(name="sweep", performed_at=timezone.now())
    url = "/admin/workers/lease/"
    seen = poll(operator, url)["X-Seen"]
    assert poll(operator, url, seen).status_code == 204
    row.performed_at += timedelta(seconds=2)
    row.save()
    performed = poll(operator, url, seen)
    assert performed.status_code == 200
    Lease.objects.update(holder="sweeper", expires_at=timezone.now())
    assert poll(operator, url, performed["X-Seen"]).status_code == 200


def test_who_was_told_is_news_among_the_sinks(operator):
    order = order_in_error()
    due = {"process_id": order.process_id, "kind": "queue", "last": 3, "tries": 1}
    first, second = [SinkFactory(address=name, **due) for name in "ab"]
    url = "/admin/workers/sink/"
    seen = poll(operator, url)["X-Seen"]
    Sink.objects.filter(pk=first.pk).update(next_try_at=timezone.now() + timedelta(hours=1))
    failed = poll(operator, url, seen)
    assert failed.status_code == 200
    Sink.objects.filter(pk=second.pk).update(cursor=3)
    assert poll(operator, url, failed["X-Seen"]).status_code == 200


def test_how_far_a_job_is_is_news_among_the_jobs(operator):
    now = timezone.now()
    job = BulkJob.objects.create(
        verb="resubmit", actor="operator:ann", state="running", total=9, created_at=now
    )
    url = "/admin/desk/bulkjob/"
    seen = poll(operator, url)["X-Seen"]
    BulkJob.objects.filter(pk=job.pk).update(done=4)
    worked = poll(operator, url, seen)
    assert worked.status_code == 200
    BulkJob.objects.filter(pk=job.pk).update(state="done", ended_at=now)
    assert poll(operator, url, worked["X-Seen"]).status_code == 200


@pytest.mark.parametrize("listed", ["route", "delivery"])
def test_how_a_delivery_went_is_news_among_those_who_are_told(operator, listed):
    route = Route.objects.create(name="crew", kind="mail", address="crew@example.org")
    url, now = f"/admin/desk/{listed}/", timezone.now()
    seen = poll(operator, url)["X-Seen"]
    delivery = Delivery.objects.create(route=route, event="opened", at=now, next_at=now)
    noted = poll(operator, url, seen)
    assert noted.status_code == 200
    later = now + timedelta(minutes=1)
    Delivery.objects.filter(pk=delivery.pk).update(tries=1, next_at=later)
    failed = poll(operator, url, noted["X-Seen"])
    assert failed.status_code == 200
    Delivery.objects.filter(pk=delivery.pk).update(state="delivered", ended_at=later)
    assert poll(operator, url, failed["X-Seen"]).status_code == 200


def test_what_no_journal_tells_is_seen_before_long(operator, monkeypatch):
    order = order_in_error()
    url = f"/admin/orders/order/{order.number}/live/"
    seen = poll(operator, url)["X-Seen"]
    assert dialect.frozen_at is not None
    later = dialect.frozen_at + timedelta(seconds=changes.FRESH_SECONDS)
    monkeypatch.setattr(dialect, "frozen_at", later)
    assert poll(operator, url, seen).status_code == 200


def test_who_may_not_look_is_not_told_that_nothing_changed(operator):
    order = order_in_error()
    clerk = Client()
    clerk.force_login(get_user_model().objects.create_user("clerk", is_staff=True))
    # The index is every clerk's, and has on it what that one may see.
    for url in set(urls(order)) - {NEEDS}:
        seen = poll(operator, url)["X-Seen"]
        assert poll(clerk, url, seen).status_code == 403, url
        assert poll(Client(), url, seen).status_code == 302, url


def test_every_live_list_is_among_these():
    lists = {
        model
        for model, model_admin in admin.site._registry.items()
        if isinstance(model_admin, LiveListAdmin)
    }
    assert lists == {*LISTS, Lease, Act}
