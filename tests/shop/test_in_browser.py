"""The pages in a real browser, under the content security policy they are sent with."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from orders.models import Order
from tests.browsing import watched_page
from tests.factories import ProductFactory
from tests.shop.conftest import order_with
from workers.models import Process, Step

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(browser, live_server) -> Iterator[Page]:
    """A buyer's page."""
    with watched_page(browser, live_server.url) as page:
        yield page


def finish(order: Order) -> None:
    Step.objects.filter(process=order.process_id).update(
        state="processed", result={}, not_before=None, fault=None
    )
    Process.objects.filter(pk=order.process_id).update(
        state="processed", finished_at=timezone.now()
    )


def test_a_buyer_orders_and_watches_the_order_to_its_end(page):
    ProductFactory(sku="MUG", name="Mug", picture="stoneware-mug.svg")

    page.goto("/")
    page.get_by_role("button", name="Add to basket").click()
    expect(page.locator("#basket-count")).to_contain_text("1")
    page.get_by_role("link", name="1 in your basket").click()
    page.get_by_label("Quantity of Mug").fill("3")
    page.get_by_role("button", name="Go to checkout").click()
    page.get_by_label("Your name").fill("Ada Lovelace")
    page.get_by_label("E-mail").fill("ada@example.org")
    page.get_by_label("Delivery address").fill("12 St James's Square")
    page.get_by_role("button", name="Place the order").dblclick()
    expect(page.locator("#state")).to_contain_text("Received")
    order = Order.objects.get()
    finish(order)

    expect(page.locator("#state")).to_contain_text("Everything is done. Thank you!")
    expect(page.locator(".step.processed")).to_have_count(6)
    assert page.url.endswith(f"/orders/{order.secret}/")
    assert order.lines.get().quantity == 3


def test_a_buyer_cancels_an_order_in_two_clicks(page):
    """The page's address is kept from others, and the form is accepted all the same."""
    order = order_with(charge_payment={"pending": True})
    page.goto(order.get_absolute_url())
    page.get_by_role("link", name="Cancel this order").click()
    page.get_by_role("button", name="Cancel the order").click()

    expect(page.locator("#state")).to_contain_text("Your order was cancelled.")
    assert page.url.endswith(order.get_absolute_url())


def test_polling_ends_with_the_order(page):
    order = order_with(charge_payment={"pending": True})
    polls: list[str] = []
    page.on("request", lambda request: polls.append(request.url))
    page.goto(order.get_absolute_url())
    finish(order)
    expect(page.locator("#state")).to_contain_text("Complete")
    polls.clear()

    page.wait_for_timeout(2500)

    assert polls == []


def test_the_time_left_counts_down_without_a_request(page):
    order = order_with(charge_payment={"started": True, "timeout_seconds": 500})
    page.goto(order.get_absolute_url())
    countdown = page.locator(".countdown")
    before = countdown.inner_text()

    expect(countdown).not_to_have_text(before, timeout=3000)

    assert before.startswith("8 min ")
    assert countdown.inner_text().endswith(" s left")


def test_a_time_that_is_over_says_so(page):
    fault = {"kind": "unavailable", "code": "unreachable", "message": "not reached"}
    soon = timezone.now() + timedelta(seconds=2)
    order = order_with(charge_payment={"pending": True, "not_before": soon, "fault": fault})

    page.goto(order.get_absolute_url())

    expect(page.locator(".step.retrying")).to_contain_text("We try again in a moment.")


def test_page_shows_offline_notice_until_shop_is_reachable(browser, live_server):
    order = order_with(charge_payment={"pending": True})
    page = browser.new_page(base_url=live_server.url)
    page.goto(order.get_absolute_url())

    page.context.set_offline(True)
    expect(page.locator("#offline")).to_be_visible()
    page.context.set_offline(False)

    expect(page.locator("#offline")).to_be_hidden()
    page.close()


def test_an_order_can_be_watched_without_javascript(browser, live_server):
    order = order_with(charge_payment={"pending": True})
    page = browser.new_page(base_url=live_server.url, java_script_enabled=False)
    page.goto(order.get_absolute_url())
    expect(page.locator("#state")).to_contain_text("In progress")

    finish(order)

    expect(page.locator("#state")).to_contain_text("Complete", timeout=8000)
    page.close()


def test_nothing_is_wider_than_the_smallest_screen(page):
    ProductFactory(sku="MUG", name="An unusually long name of a thing", price="99999.99")
    page.set_viewport_size({"width": 360, "height": 720})
    page.goto("/")
    page.get_by_role("button", name="Add to basket").click()
    expect(page.locator("#basket-count")).to_contain_text("1")

    for path in ("/", "/products/MUG/", "/basket/", "/checkout/", "/my-orders/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path


def test_the_link_of_an_order_is_told_to_no_page_that_follows(page):
    ProductFactory(sku="MUG", name="Mug")
    order = order_with(charge_payment={"pending": True})
    told: list[str] = []
    page.on("request", lambda request: told.append(request.all_headers().get("referer", "")))
    page.goto(order.get_absolute_url())
    expect(page.locator("#state")).to_contain_text("In progress")
    with page.expect_response("**/progress/**"):
        pass
    page.get_by_role("link", name="Lantern & Loom").click()
    expect(page.get_by_role("heading", name="Mug")).to_be_visible()

    assert page.evaluate("document.referrer") == ""
    assert [address for address in told if order.secret in address] == []
    assert len(told) > 4


def test_a_wrong_link_leads_to_a_friendly_page_without_an_order(browser, live_server):
    order = order_with()
    page = browser.new_page(base_url=live_server.url)
    page.goto(f"/orders/{order.secret[:-1]}/")
    expect(page.get_by_role("heading", name="Nothing on this shelf")).to_be_visible()
    assert order.customer_name not in page.content()
    page.close()


def test_nothing_that_got_into_a_page_would_run(browser, live_server):
    page = browser.new_page(base_url=live_server.url)
    blocked: list[str] = []
    page.on("console", lambda message: blocked.append(message.text))
    page.goto("/")
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          const image = document.createElement("img");
          image.setAttribute("onerror", "window.ran = true");
          image.src = "http://192.0.2.1/pixel.gif";
          const base = document.createElement("base");
          base.href = "http://192.0.2.1/";
          document.head.append(script, base);
          document.body.append(image);
        }"""
    )
    page.wait_for_timeout(500)

    assert page.evaluate("window.ran === undefined")
    assert page.evaluate("document.baseURI").startswith(live_server.url)
    for directive in ("script-src", "img-src", "base-uri"):
        assert any(directive in text for text in blocked), directive
    page.close()


@pytest.mark.parametrize("path", ["/", "/products/MUG/"])
def test_focus_stays_on_the_button_that_was_pressed(page, path):
    ProductFactory(sku="MUG", name="Mug", picture="stoneware-mug.svg")
    page.goto(path)
    button = page.get_by_role("button", name="Add to basket")
    button.focus()

    page.keyboard.press("Enter")
    expect(page.locator("#basket-count")).to_contain_text("1")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("#basket-count")).to_contain_text("2")
    expect(button).to_be_focused()


def test_a_double_click_puts_one_into_the_basket(page):
    ProductFactory(sku="MUG", name="Mug", picture="stoneware-mug.svg")
    page.goto("/")
    page.route("**/basket/add/", lambda route: (page.wait_for_timeout(300), route.continue_()))

    page.get_by_role("button", name="Add to basket").dblclick()

    expect(page.locator("#basket-count")).to_contain_text("1")
    page.wait_for_timeout(500)
    expect(page.locator("#basket-count")).to_contain_text("1")


def test_a_form_with_mistakes_begins_at_what_is_wrong(browser, live_server):
    # Unwatched: that the form is refused is told in the console.
    page = browser.new_page(base_url=live_server.url)
    ProductFactory(sku="MUG", name="Mug", picture="stoneware-mug.svg")
    page.goto("/")
    page.get_by_role("button", name="Add to basket").click()
    expect(page.locator("#basket-count")).to_contain_text("1")
    page.goto("/checkout/")
    page.get_by_role("button", name="Place the order").click()

    expect(page.get_by_role("alert")).to_be_focused()
    page.close()
