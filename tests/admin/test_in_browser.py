"""The live pages in a real browser, under the content security policy they are sent with."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from orders.models import Order
from tests.admin import toys
from tests.admin.conftest import alert_about, note, order_in_error, order_with
from workers.models import Alert, Journal, Process, Step
from workers.store.flow import holds

LIST = "/admin/orders/order/"

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def mark(page: Page) -> None:
    """Leave a mark in the page that a new page would not have."""
    page.evaluate("window.isTheSamePage = true")


def is_the_same(page: Page) -> bool:
    return bool(page.evaluate("window.isTheSamePage === true"))


def move(order: Order, state: str) -> None:
    """Bring an order's process into a state, with the journal row of every such change."""
    note(order, state)
    Process.objects.filter(pk=order.process_id).update(state=state)


def test_rows_change_where_they_are(page):
    order = order_with(charge_payment="started")
    page.goto(LIST)
    mark(page)
    expect(page.locator(".field-state")).to_contain_text("processing")

    move(order, "error")

    expect(page.locator(".field-state")).to_contain_text("error", timeout=10_000)
    assert is_the_same(page)


def test_new_orders_are_announced_and_no_row_moves(page):
    first, second = order_in_error(), order_in_error()
    page.goto(LIST)
    mark(page)
    rows = page.locator("#result_list tbody tr")
    before = rows.nth(1).bounding_box()
    assert before is not None
    expect(rows.nth(1)).to_contain_text(str(first.number))

    third = order_in_error()
    move(first, "processing")

    news = page.get_by_role("button", name="1 new: show")
    expect(news).to_be_visible(timeout=10_000)
    expect(rows).to_have_count(2)
    after = rows.nth(1).bounding_box()
    assert after is not None
    assert (after["x"], after["y"]) == (before["x"], before["y"])
    assert is_the_same(page)
    # It is the row it was, and says what is true of it now.
    expect(rows.nth(1)).to_contain_text(str(first.number))
    expect(rows.nth(1).locator(".field-state")).to_contain_text("processing")
    expect(rows.nth(0).locator(".action-select")).to_have_value(str(second.number))

    news.click()
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text(str(third.number))
    page.check("#action-toggle")
    expect(page.locator(".action-counter")).to_have_text("3 of 3 selected")


def test_order_that_left_filtered_list_stays_until_list_is_refreshed(page):
    order, _other = order_in_error(), order_in_error()
    page.goto(f"{LIST}?state=error")
    move(order, "processing")

    expect(page.locator("tr.sas-gone")).to_contain_text(str(order.number), timeout=10_000)
    expect(page.locator("#result_list tbody tr")).to_have_count(2)
    page.get_by_role("button", name="The list has changed: show").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(1)


def test_nothing_moves_while_something_is_selected(page):
    order = order_in_error()
    page.goto(LIST)
    page.check(".action-select")
    move(order, "processing")
    page.wait_for_timeout(4000)
    expect(page.locator(".field-state")).to_contain_text("error")

    page.uncheck(".action-select")
    expect(page.locator(".field-state")).to_contain_text("processing", timeout=10_000)


def test_a_detail_stays_open_and_the_change_is_said(page):
    order = order_in_error()
    row = note(order, "claimed", detail={"agent": "payment.charge"})
    page.goto(f"{LIST}{order.number}/change/")
    page.click(f"#journal-{row.pk} summary")

    move(order, "processing")
    note(order, "resubmitted", actor="operator:other")

    expect(page.locator(".sas-journal").get_by_text("Resubmitted by an operator")).to_be_visible(
        timeout=10_000
    )
    expect(page.locator(f"#journal-{row.pk}")).to_have_attribute("open", "")
    said = page.locator("[data-live-said]")
    expect(said).to_have_text(re.compile(f"{order}: processing"))


def test_a_page_that_is_not_refreshed_stands_still_until_it_is_again(page):
    order = order_in_error()
    page.goto(LIST)
    page.get_by_role("button", name="Stop refreshing").click()
    move(order, "processing")
    page.wait_for_timeout(4000)
    expect(page.locator(".field-state")).to_contain_text("error")
    page.get_by_role("button", name="Refresh again").click()
    expect(page.locator(".field-state")).to_contain_text("processing", timeout=10_000)


def test_countdowns_run_on_the_server_s_clock(page):
    now = timezone.now()
    order_with(charge_payment={"started": True, "started_at": now, "timeout_seconds": 300})
    page.add_init_script("const real = Date.now; Date.now = () => real() + 3_600_000;")
    page.goto(LIST)
    clock = page.locator(".field-complete_by time")
    expect(clock).to_have_text(re.compile(r"^4 min \d\d s left$"))
    first = clock.text_content()
    expect(clock).not_to_have_text(str(first), timeout=5_000)


def test_a_double_click_resubmits_once(page, nudges):
    order = order_in_error()
    page.goto(f"{LIST}{order.number}/change/")
    page.get_by_role("link", name="Resubmit").click()
    page.get_by_label("Reason").fill("The bank is back.")
    page.get_by_role("button", name="Resubmit").dblclick()

    expect(page.locator(".messagelist")).to_contain_text("was resubmitted: charge_payment")
    assert Journal.objects.filter(event="resubmitted", step=None).count() == 1
    assert nudges == ["later"]


def test_an_alert_is_acknowledged_with_one_click(page):
    alert_about(order_in_error(), message="Payment is down")
    page.goto("/admin/workers/alert/?is=open")
    page.get_by_role("button", name="Acknowledge: Payment is down").click()
    expect(page.locator(".messagelist")).to_contain_text("Acknowledged: Payment is down")
    expect(page).to_have_url(re.compile(r"\?is=open$"))
    assert Alert.objects.filter(acknowledged_at=None).count() == 0


def test_page_warns_signed_out_user_of_stale_data(page):
    order = order_in_error(unavailable_count=2)
    page.goto(f"{LIST}{order.number}/change/")
    page.context.clear_cookies()
    control = page.locator("[data-live-control]")
    expect(control).to_contain_text("may be out of date", timeout=10_000)
    expect(page.get_by_text("Needs an operator")).to_be_visible()


def test_a_question_is_approved_from_the_index(page, wire):
    process = toys.asked(wire)
    page.goto("/admin/")
    page.get_by_role("link", name="1 waiting for somebody").click()
    page.get_by_role("link", name="Answer Toy 1, ask").click()
    expect(page.get_by_text("is it paid?")).to_be_visible()
    page.get_by_label("Comment").fill("The money is here.")
    page.get_by_role("button", name="Approve").dblclick()

    expect(page.locator(".messagelist")).to_contain_text("Toy 1: ask: “Approve”.")
    expect(page.get_by_text("Nothing is waiting for your answer.")).to_be_visible()
    step = Step.objects.get(process=process, name="ask")
    assert step.result == {"approved": True, "by": "operator", "comment": "The money is here."}


def test_a_question_is_declined_with_a_comment(page, wire):
    process = toys.asked(wire)
    page.goto(f"/admin/workers/process/{process.pk}/steps/ask/answer/")
    page.get_by_label("Comment").fill("Too much.")
    page.get_by_role("button", name="Decline").click()
    expect(page.locator(".messagelist")).to_contain_text("ask: “Decline”")
    process.refresh_from_db()
    assert (process.state, process.outcome) == ("compensating", "compensated")


def test_a_cancellation_is_looked_at_and_then_done(page, wire):
    process = toys.asked(wire)
    page.goto(f"/admin/workers/process/{process.pk}/change/")
    page.get_by_role("link", name="Cancel…").click()
    undone = page.locator(".sas-order li")
    expect(undone).to_have_text(
        ["unask by toy.undoer, for ask", "undo_first by toy.undoer, for first"]
    )
    page.get_by_label("Reason").fill("The buyer rang.")
    page.get_by_role("button", name="Cancel it").dblclick()

    expect(page.locator(".messagelist")).to_contain_text("being undone: unask, undo_first")
    expect(page.locator(".sas-journal").get_by_text("Compensating: what was done")).to_be_visible()
    assert Journal.objects.filter(event="compensating").count() == 1


def test_many_are_paused_from_the_list(page):
    orders = [order_in_error(), order_in_error()]
    page.goto(LIST)
    page.check("#action-toggle")
    page.locator("select[name=action]").select_option("pause_selected")
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_text("2 of 2 selected change.")).to_be_visible()
    page.get_by_label("Reason").fill("Stocktaking.")
    page.get_by_role("button", name="Pause: 2").click()
    expect(page.locator(".sas-headline")).to_contain_text("2 of 2")
    paused = Process.objects.exclude(paused_at=None)
    assert {row.pk for row in paused} == {order.process_id for order in orders}


def test_no_list_is_cut_off_on_a_laptop(page):
    """Also where everything is long: the last columns of a list must not be out of sight."""
    name = "Bartholomew Featherstonehaugh-Cholmondeley"
    order = order_with("compensating", customer=name, charge_payment="started")
    alert_about(order, message="The service of agent payment.charge has not been reached. " * 3)
    order.process.steps.filter(state="processing").update(
        locked_by="agent@a-host-with-a-long-name:12345/0042035e"
    )
    alert_about(order, message="y" * 300, resolved_at=timezone.now())
    page.set_viewport_size({"width": 1280, "height": 800})
    for url in (LIST, "/admin/workers/process/", "/admin/workers/alert/"):
        page.goto(url)
        assert page.locator("#result_list tbody tr").count() > 0, url
        cut = page.evaluate(
            "(() => { const r = document.querySelector('#changelist .results');"
            " return r.scrollWidth - r.clientWidth; })()"
        )
        assert cut <= 0, url


def test_on_a_phone_an_alert_says_what_is_still_so(page):
    alert_about(order_in_error())
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/admin/workers/alert/")
    expect(page.locator(".field-still_so")).to_have_text("still so: yes", use_inner_text=True)


def test_on_a_phone_the_tabs_show_that_there_are_more(page):
    """By shadows at the edges, which covers that scroll along hide where there are none."""
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(LIST)
    tabs = page.locator(".sas-tabs ul")
    assert tabs.evaluate("(tabs) => tabs.scrollWidth > tabs.clientWidth")
    expect(tabs).to_have_css("background-attachment", "local, local, scroll, scroll")


def test_the_switch_of_a_page_does_not_lie_on_a_hold(page):
    """The sentence of a hold may be long: nothing lies on top of it."""
    holds.hold("step", "no_such_step", actor="operator:ann", reason="z" * 300)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/admin/workers/process/causes/")
    switch = page.locator(".sas-live").bounding_box()
    held = page.locator(".sas-held").bounding_box()
    assert switch is not None
    assert held is not None
    assert switch["y"] + switch["height"] <= held["y"]


@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_is_wider_than_the_window(page, wire, width):
    asked = toys.asked(wire, question="Is this " + "very" * 60 + " long question answered?")
    holds.hold("step", "no_such_step", actor="operator:ann", reason="z" * 300)
    order = order_in_error(not_before=timezone.now() + timedelta(hours=1))
    note(order, "failed", detail={"reason": "x" * 400}, actor="agent@" + "long" * 40)
    alert = alert_about(order, message="y" * 300)
    page.set_viewport_size({"width": width, "height": 800})
    for url in (
        "/admin/",
        LIST,
        f"{LIST}{order.number}/change/",
        f"{LIST}{order.number}/resubmit/",
        "/admin/workers/alert/",
        f"/admin/workers/alert/{alert.pk}/change/",
        f"/admin/workers/process/{order.process_id}/change/",
        "/admin/workers/lease/",
        "/admin/workers/process/waiting/",
        f"/admin/workers/process/{asked.pk}/change/",
        f"/admin/workers/process/{asked.pk}/cancel/",
        f"/admin/workers/process/{asked.pk}/steps/ask/answer/",
        f"/admin/workers/process/{asked.pk}/steps/ask/complete/",
        f"/admin/workers/process/{toys.editable(wire).pk}/input/",
        "/admin/workers/flow/",
        "/admin/workers/flow/toy.beta/set/",
        "/admin/workers/hold/",
        "/admin/workers/hold/hold/",
    ):
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, url


def test_focus_stays_on_the_link_when_the_page_refreshes_itself(page, wire):
    process = toys.asked(wire)
    page.goto(f"/admin/workers/process/{process.pk}/change/")
    link = page.get_by_role("link", name="Pause…").first
    link.focus()
    said = page.locator("#live")
    before = said.inner_html()

    Journal.objects.create(process=process, event="brand_new", actor="x", at=timezone.now())

    expect(said).to_contain_text("Brand new", timeout=10_000)
    assert said.inner_html() != before
    expect(link).to_be_focused()


def test_focus_stays_in_the_part_whose_link_is_gone(page, wire):
    process = toys.asked(wire)
    page.goto(f"/admin/workers/process/{process.pk}/change/")
    page.get_by_role("link", name="Answer…").first.focus()

    Step.objects.filter(process=process, name="ask").update(deferral=None)
    Journal.objects.create(process=process, event="brand_new", actor="x", at=timezone.now())

    expect(page.locator("#live")).to_contain_text("Brand new", timeout=10_000)
    expect(page.locator("#live")).to_be_focused()
