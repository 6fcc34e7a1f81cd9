"""Logging in, and API clients, in a real browser under the policy that pages are sent with."""

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from playwright.sync_api import Page, expect

from orders import tokens
from orders.models import ApiClient, ApiToken
from tests.admin.conftest import order_in_error, staff
from tests.admin.test_clients import CASES
from tests.browsing import sign_in, watched_page

LIST = "/admin/orders/apiclient/"

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(browser, live_server) -> Iterator[Page]:
    with watched_page(browser, live_server.url) as page:
        yield page


def log_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_viewer_logs_in_looks_and_finds_nothing_to_do(page):
    user = get_user_model().objects.create_user("vic", password="correct horse", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_order"))
    order = order_in_error()

    page.goto("/admin/")
    log_in(page, "vic", "wrong horse")
    expect(page.locator(".errornote")).to_contain_text("correct username and password")
    log_in(page, "vic", "correct horse")

    page.get_by_role("link", name="Orders", exact=True).first.click()
    page.get_by_role("link", name="A***").click()
    expect(page.get_by_role("heading", name=str(order))).to_be_visible()
    expect(page.get_by_role("link", name="Resubmit")).to_have_count(0)
    page.get_by_role("button", name="Log out").click()
    page.goto("/admin/orders/order/")
    expect(page.get_by_label("Password")).to_be_visible()


def test_a_client_is_added_given_a_token_and_stopped(page, live_server):
    everything = [case.permission for case in CASES.values()]
    sign_in(page.context, live_server.url, staff("ann", "register_client", *everything))

    page.goto(LIST)
    page.get_by_role("link", name="Add…").click()
    page.get_by_label("Name").fill("acme")
    page.get_by_label("Reason").fill("A new partner.")
    page.get_by_role("button", name="Add it").dblclick()
    page.get_by_role("link", name="Issue a token…").click()
    page.get_by_label("operate").check()
    page.get_by_label("Valid for").fill("30")
    page.get_by_label("Reason").fill("They begin on Monday.")
    page.get_by_role("button", name="Issue it").dblclick()
    shown = page.locator(".shop-secret").inner_text()

    found = tokens.verify(shown)
    assert found is not None
    assert found.scopes == ["operate", "read", "submit"]
    assert (ApiClient.objects.count(), ApiToken.objects.count()) == (1, 1)
    page.get_by_role("link", name="Back to acme").click()
    expect(page.get_by_text("They begin on Monday.")).to_be_visible()
    assert shown not in page.content()

    page.get_by_role("link", name=re.compile("^Revoke…")).click()
    page.get_by_label("Reason").fill("It was in a mail.")
    page.get_by_role("button", name="Revoke it").click()
    expect(page.locator(".messagelist")).to_contain_text("was revoked")
    assert tokens.verify(shown) is None


def test_going_back_to_a_token_shows_it_to_nobody(page, acme, live_server):
    sign_in(page.context, live_server.url, staff("ann", "issue_token"))
    page.goto(f"{LIST}{acme.pk}/issue/")
    page.get_by_label("Reason").fill("They asked.")
    page.get_by_role("button", name="Issue it").click()
    shown = page.locator(".shop-secret").inner_text()
    page.goto(LIST)
    page.context.clear_cookies()

    # The page is in no cache: the browser has to ask again, as somebody without a session.
    # Asked by the page once this call is over, which would not outlive the page.
    with page.expect_event("framenavigated"):
        page.evaluate("setTimeout(() => history.go(-1))")

    assert shown not in page.content()
    assert acme.tokens.count() == 2


@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_of_a_client_is_wider_than_the_window(page, acme, live_server, width):
    ApiClient.objects.create(name="x" * 40, created_at=acme.created_at)
    everything = [case.permission for case in CASES.values()]
    sign_in(page.context, live_server.url, staff("ann", "register_client", *everything))
    page.set_viewport_size({"width": width, "height": 800})
    addresses = ["", "register/", f"{acme.pk}/change/", f"{acme.pk}/history/"]
    for address in addresses + [f"{acme.pk}/{case.address(acme)}" for case in CASES.values()]:
        page.goto(f"{LIST}{address}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_the_page_of_the_api_is_whole(page, live_server):
    sign_in(page.context, live_server.url, staff("ann"))
    page.goto("/api/v1/docs")
    page.locator(".opblock-summary-control").first.click()
    expect(page.get_by_role("button", name="Try it out")).to_be_visible()
