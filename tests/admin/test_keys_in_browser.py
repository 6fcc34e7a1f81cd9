"""Keys in a list move, select and open; never while somebody types, and not switched off."""

import pytest
from django.test import Client
from playwright.sync_api import expect

from tests.admin.conftest import order_in_error

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def visitor(admin_client) -> Client:
    return admin_client


def test_keys_move_select_and_open(page):
    first, second = order_in_error(), order_in_error()
    page.goto("/admin/orders/order/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    for key in "jj":
        page.keyboard.press(key)
    expect(page.locator(":focus")).to_have_text(str(first.number))
    page.keyboard.press("k")
    expect(page.locator(":focus")).to_have_text(str(second.number))
    page.keyboard.press("x")
    expect(page.locator(".action-select").first).to_be_checked()
    page.keyboard.press("x")
    page.keyboard.press("/")
    expect(page.locator("#searchbar")).to_be_focused()
    page.keyboard.type("jxog?")
    expect(page.locator("#searchbar")).to_have_value("jxog?")
    page.locator("#searchbar").blur()
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/change/**")
    page.keyboard.press("g")
    page.wait_for_url("**/admin/")


def test_user_with_keys_switched_off_has_no_list_keys(page):
    order_in_error()
    page.goto("/admin/desk/preferences/")
    page.get_by_label("Keys").uncheck()
    page.get_by_role("button", name="Save").click()
    page.goto("/admin/orders/order/")
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(page.locator("[data-keys]")).to_have_count(0)
    expect(page.locator("#result_list :focus")).to_have_count(0)
