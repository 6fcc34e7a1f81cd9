"""A job's page in a real browser: it follows the job, and leads on."""

import os
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect

from tests.admin.conftest import order_in_error, staff
from workers.desk.models import BulkJob
from workers.desk.store import jobs
from workers.models import Flow, Process

ORDERS, JOBS = "/admin/orders/order/", "/admin/desk/bulkjob/"
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def visitor(db) -> Client:
    return staff("operator", "resubmit_order", "pause_process", "operate_bulkjob")


def shot(page: Page, name: str) -> None:
    """Keep a picture where somebody wants to look."""
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def test_from_the_list_to_a_job_that_is_followed_and_stopped(page):
    orders = [order_in_error() for _ in range(4)]
    now = timezone.now()
    away = {"opened_at": now - timedelta(minutes=9), "open_until": now + timedelta(seconds=20)}
    Flow.objects.update_or_create(agent="payment.charge", defaults={"window": 100, **away})
    page.goto(f"{ORDERS}?needs=error")
    page.check("#action-toggle")
    page.select_option("select[name=action]", "resubmit_selected")
    page.get_by_role("button", name="Run", exact=False).or_(
        page.get_by_role("button", name="Go")
    ).first.click()
    expect(page.get_by_text("They would wait all the same:")).to_be_visible()
    shot(page, "preview")
    page.get_by_label("Reason").fill("The bank is back.")
    page.get_by_label("At most this many a second").fill("0.5")
    page.get_by_role("button", name="Resubmit: 4").click()

    expect(page.locator(".sas-headline")).to_contain_text("running Resubmit: 0 of 4")
    job = BulkJob.objects.get()
    page.evaluate("window.isTheSamePage = true")
    Process.objects.filter(pk=orders[0].process_id).update(sequence=9)
    jobs.work(job.pk, 10, now + timedelta(hours=1))
    expect(page.locator(".sas-headline")).to_contain_text("1 of 4, 1 refused", timeout=10_000)
    expect(page.get_by_text("has moved since the page was opened")).to_be_visible()
    shot(page, "running")
    assert page.evaluate("window.isTheSamePage === true")
    # Polls that bring nothing are no broken page.
    page.wait_for_timeout(4000)
    expect(page.locator("[data-live-word]")).to_have_text("Live")

    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".messagelist")).to_contain_text("What it has done stays done.")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Stop the rest").click()
    expect(page.locator(".sas-headline")).to_contain_text("stopped")
    expect(page.get_by_role("button", name="Stop the rest")).to_have_count(0)
    page.get_by_role("link", name="Select these not worked yet").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(3)
    page.goto(JOBS)
    expect(page.locator("#result_list")).to_contain_text("1 of 4, 1 refused")
    shot(page, "jobs")


def test_what_failed_again_is_two_clicks_away(page):
    orders = [order_in_error() for _ in range(3)]
    seen = {order.process_id: order.process.sequence for order in orders}
    source = {"list": "orders.order", "query": ""}
    job_id = jobs.create("resubmit", seen, actor="operator:operator", reason="r", source=source)
    jobs.work(job_id, 10)
    Process.objects.filter(pk=orders[1].process_id).update(state="error")
    again = orders[1].process.steps.get(name="charge_payment")
    again.state, again.not_before = "error", None
    again.save()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{JOBS}{job_id}/change/")
    shot(page, "phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    page.get_by_role("button", name="Resubmit the one that failed again…").click()

    expect(page.get_by_text("1 of 1 selected changes.")).to_be_visible()
    page.get_by_label("Reason").fill("Once more.")
    page.get_by_role("button", name="Resubmit: 1").click()
    expect(page).to_have_url(re.compile(rf"{JOBS}{job_id + 1}/change/"))
    expect(page.locator(".sas-headline")).to_contain_text("done Resubmit: 1 of 1")
