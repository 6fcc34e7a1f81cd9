"""The pages of an order, its pictures among them: for everybody, in both themes, at two widths."""

import itertools
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from orders.models import DeadLetter, Order
from tests import axe
from tests.admin.conftest import note, order_with
from tests.admin.hostile import evil, fill_shop
from tests.admin.test_health import fare
from tests.browsing import sign_in
from workers.desk.models import SavedView
from workers.desk.store import saved_views
from workers.models import Journal, Process, Step

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDTHS = (1280, 390)
THEMES = ("light", "dark")


def open_page(browser: Browser, url: str, client: Client, theme: str, width: int) -> Page:
    context = browser.new_context(
        base_url=url,
        viewport={"width": width, "height": 900},
        color_scheme=theme,  # type: ignore[arg-type]
        # Of axe's own script, which no page of ours would let in.
        bypass_csp=True,
    )
    sign_in(context, url, client)
    return context.new_page()


def drawn_order() -> Order:
    """An order with a retry, an undo, an operator's act, a wait for an answer and a deadline."""
    order = order_with(
        reserve_stock={"processed": True, "undo": {"name": "release", "agent": "stock.release"}},
        charge_payment={"started": True, "attempt": 2},
        book_shipment={"after": ["charge_payment", "reserve_stock"]},
    )
    step = Step.objects.get(process=order.process, name="charge_payment")
    began = order.process.created_at - timedelta(minutes=9)
    Process.objects.filter(pk=order.process_id).update(
        created_at=began, deadline_at=timezone.now() + timedelta(hours=2)
    )
    note(order, "submitted", after="pending", at=began)
    note(order, "claimed", step=step, before="pending", after="processing", attempt=1,
         at=began + timedelta(seconds=1))  # fmt: skip
    note(order, "failed", step=step, before="processing", after="pending", attempt=1,
         at=began + timedelta(seconds=9), detail={
             "started_at": (began + timedelta(seconds=2)).isoformat(),
             "fault": {"kind": "transient", "code": "http_500", "message": "answered 500"},
         })  # fmt: skip
    note(order, "paused", actor="operator:ann", at=began + timedelta(seconds=20),
         detail={"reason": "stocktaking"})  # fmt: skip
    note(order, "claimed", step=step, before="pending", after="processing", attempt=2,
         at=began + timedelta(minutes=8))  # fmt: skip
    return order


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(browser, live_server, admin_client, theme, width):
    order = drawn_order()
    paused = Journal.objects.get(event="paused")
    letter = DeadLetter.objects.create(
        received_at=timezone.now(), body=b'{"customer": {"name": "Ada"}}', reasons=[]
    )
    fare()
    saved_views.save(
        get_user_model().objects.get(is_superuser=True).pk, "orders.order", "Errors", "state=error"
    )
    view = SavedView.objects.get()
    page = open_page(browser, live_server.url, admin_client, theme, width)
    for url in (
        f"/admin/orders/order/{order.number}/change/",
        f"/admin/workers/process/{order.process_id}/change/",
        f"/admin/orders/deadletter/{letter.pk}/change/",
        "/admin/desk/preferences/",
        "/admin/desk/minute/",
        "/admin/desk/minute/?agent=payment.charge&range=24h",
        "/admin/desk/proberesult/",
        "/admin/workers/act/",
        f"/admin/workers/act/{paused.pk}/change/",
        "/admin/desk/incident/hand-over/",
        "/admin/orders/order/?state=error",
        "/admin/desk/savedview/",
        f"/admin/desk/savedview/{view.pk}/change/",
        "/admin/",
        "/admin/no/such/page/",
    ):
        page.goto(url)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert axe.violations(page) == [], url
        assert page.evaluate("document.documentElement.scrollWidth") <= width, url


@pytest.mark.parametrize("width", WIDTHS)
def test_letters_of_a_picture_are_as_large_as_others(browser, live_server, admin_client, width):
    order = drawn_order()
    page = open_page(browser, live_server.url, admin_client, "light", width)
    page.goto(f"/admin/orders/order/{order.number}/change/")
    heights = page.evaluate(
        "[...document.querySelectorAll('.sas-chart text, .sas-graph text')]"
        ".map((text) => text.getBoundingClientRect().height)"
    )
    assert len(heights) > 8
    assert min(heights) >= 11
    labels = page.evaluate(
        "[...document.querySelectorAll('.sas-chart-axis text:not(.sas-fold-label)')]"
        ".map((text) => text.getBoundingClientRect()).map((box) => [box.left, box.right])"
    )
    assert all(left[1] < right[0] for left, right in itertools.pairwise(labels)), labels


def test_long_words_make_no_page_wider_than_a_phone(browser, live_server, admin_client):
    order = fill_shop()
    note(order, "cancel_requested", detail={evil("detail"): evil("said")})
    page = open_page(browser, live_server.url, admin_client, "light", 390)
    for url in (f"orders/order/{order.number}", f"workers/process/{order.process_id}"):
        page.goto(f"/admin/{url}/change/")
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, url


def test_a_time_zone_is_taken_from_the_browser(browser, live_server, admin_client):
    context = browser.new_context(base_url=live_server.url, timezone_id="Asia/Tokyo")
    sign_in(context, live_server.url, admin_client)
    page = context.new_page()
    page.goto("/admin/")
    page.get_by_role("link", name="UTC", exact=True).click()
    page.get_by_role("button", name="Use that of this browser: Asia/Tokyo").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Asia/Tokyo")).to_be_visible()


def test_personal_data_is_shown_by_one_click_and_masked_by_another(
    browser, live_server, admin_client
):
    order = drawn_order()
    page = open_page(browser, live_server.url, admin_client, "light", 1280)
    page.goto(f"/admin/orders/order/{order.number}/change/")
    expect(page.get_by_text("a***@example.org").first).to_be_visible()
    page.get_by_role("button", name="Show personal data").click()
    expect(page.get_by_text("ada@example.org").first).to_be_visible()
    page.get_by_role("button", name="Mask personal data").click()
    expect(page.get_by_text("a***@example.org").first).to_be_visible()
