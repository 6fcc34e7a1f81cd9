"""Saved views in a real browser: saved by their form, counted once the list is there."""

import os
from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from playwright.sync_api import expect

from tests import axe
from tests.admin.conftest import order_in_error, order_with
from tests.admin.test_accessible import THEMES, WIDTHS, open_page
from workers.desk.store import saved_views

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ORDERS = "/admin/orders/order/"


@pytest.fixture
def views(admin_client) -> Iterator[None]:
    order_in_error()
    order_with()
    ann = get_user_model().objects.create_user("ann")
    root = get_user_model().objects.get(is_superuser=True)
    for name, query in (
        ("Errors", "state=error"),
        ("Paused by somebody, with a name of some length", "paused=yes"),
        ("Old", "gone=1"),
    ):
        saved_views.save(root.pk, "orders.order", name, query)
    saved_views.save(ann.pk, "orders.order", "In hand", "state=processing", is_shared=True)
    return


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(browser, live_server, admin_client, views, theme, width):
    page = open_page(browser, live_server.url, admin_client, theme, width)
    page.goto(f"{ORDERS}?state=error")
    expect(page.get_by_role("link", name="Errors 1")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("link", name="In hand 1 ann")).to_be_visible()
    page.get_by_text("Save this view").click()
    for url in ("", "/admin/desk/savedview/"):
        if url:
            page.goto(url)
        if folder := os.environ.get("SHOTS"):
            page.screenshot(path=f"{folder}/{theme}-{width}-{bool(url)}.png", full_page=True)
        assert axe.violations(page) == [], url
        assert page.evaluate("document.documentElement.scrollWidth") <= width, url


@pytest.fixture
def visitor(admin_client) -> Client:
    return admin_client


def test_a_view_is_saved_and_leads_to_its_list(page, live_server):
    order_in_error()
    page.goto(f"{ORDERS}?state=error")
    page.get_by_text("Save this view").click()
    page.get_by_label("Name").fill("Errors")
    page.locator(".sas-save").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved as “Errors”.")).to_be_visible()
    page.goto(ORDERS)
    page.get_by_role("link", name="Errors 1").click()
    expect(page).to_have_url(f"{live_server.url}{ORDERS}?state=error")
