"""A poll asks first whether anything has changed, and is told so without a row being read."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import DeadLetter, Order
from tests.admin.conftest import alert_about, note, order_in_error
from workers.admin import changes
from workers.admin.lists import LiveListAdmin
from workers.models import Alert, Flow, Hold, Lease, Process, Sink
from workers.store.db import dialect

pytestmark = pytest.mark.django_db

#: The session, the user, the rights of the user and of the groups, and the look itself; of an
#: order its process, of dead letters how many are open.
QUERIES = 7
#: Their rows change with every sweep or message, whoever looks.
ALWAYS_NEW: tuple[type[Any], ...] = (Lease, Sink)
LISTS: tuple[type[Any], ...] = (Process, Order, Alert, Hold, Flow, DeadLetter)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that stands still: a page is drawn anew after a while, whatever happens."""
    monkeypatch.setattr(dialect, "frozen_at", timezone.now())


def poll(client: Client, url: str, seen: str = "") -> HttpResponse:
    return client.get(url, headers={"HX-Request": "true", "X-Seen": seen})  # type: ignore[return-value]


def urls(order: Order) -> list[str]:
    lists = [f"/admin/{m._meta.app_label}/{m._meta.model_name}/" for m in LISTS]
    return [
        *lists,
        "/admin/orders/order/?state=error",
        "/admin/workers/process/causes/",
        f"/admin/orders/order/{order.number}/live/",
        f"/admin/workers/process/{order.process_id}/live/",
        f"/admin/workers/process/{order.process_id}/live/?steps=0",
    ]


def test_a_page_that_shows_everything_already_is_told_so(operator: Client) -> None:
    order = order_in_error()
    for url in urls(order):
        first = poll(operator, url)
        assert (first.status_code, bool(first.content)) == (200, True), url

        with CaptureQueriesContext(connection) as queries:
            again = poll(operator, url, first["X-Seen"])

        assert (again.status_code, again.content) == (204, b""), url
        assert again["X-Server-Now"], url
        assert len(queries) <= QUERIES, (url, [query["sql"] for query in queries])


def test_a_page_begins_with_what_its_first_poll_asks_about(operator: Client) -> None:
    order = order_in_error()
    for url in (
        "/admin/orders/order/",
        "/admin/workers/process/causes/",
        f"/admin/orders/order/{order.number}/change/",
    ):
        page = operator.get(url).content.decode()
        seen = page.partition('data-seen="')[2].partition('"')[0]
        polled = url.replace("/change/", "/live/")
        assert poll(operator, polled, seen).status_code == 204, url


def test_what_happens_is_shown_by_the_next_poll(operator: Client) -> None:
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


def test_another_order_s_news_do_not_draw_a_page_anew(operator: Client) -> None:
    order, other = order_in_error(), order_in_error()
    url = f"/admin/orders/order/{order.number}/live/"
    seen = poll(operator, url)["X-Seen"]
    note(other, "resubmitted")
    alert_about(other)
    assert poll(operator, url, seen).status_code == 204


def test_a_dead_letter_that_was_resolved_is_news(operator: Client) -> None:
    letter = DeadLetter.objects.create(received_at=timezone.now(), body=b"{}")
    url = "/admin/orders/deadletter/"
    seen = poll(operator, url)["X-Seen"]
    DeadLetter.objects.filter(pk=letter.pk).update(state="discarded")
    assert poll(operator, url, seen).status_code == 200


def test_what_no_journal_tells_is_seen_before_long(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = order_in_error()
    url = f"/admin/orders/order/{order.number}/live/"
    seen = poll(operator, url)["X-Seen"]
    assert dialect.frozen_at is not None
    later = dialect.frozen_at + timedelta(seconds=changes.FRESH_SECONDS)
    monkeypatch.setattr(dialect, "frozen_at", later)
    assert poll(operator, url, seen).status_code == 200


def test_who_may_not_look_is_not_told_that_nothing_changed(operator: Client) -> None:
    order = order_in_error()
    clerk = Client()
    clerk.force_login(get_user_model().objects.create_user("clerk", is_staff=True))
    for url in urls(order):
        seen = poll(operator, url)["X-Seen"]
        assert poll(clerk, url, seen).status_code == 403, url
        assert poll(Client(), url, seen).status_code == 302, url


def test_every_live_list_of_ours_says_what_it_shows_or_why_not() -> None:
    lists = {
        model
        for model, model_admin in admin.site._registry.items()
        if isinstance(model_admin, LiveListAdmin)
        and type(model_admin).marker is not LiveListAdmin.marker
    }
    assert set(LISTS) <= lists
    assert not lists & set(ALWAYS_NEW)
