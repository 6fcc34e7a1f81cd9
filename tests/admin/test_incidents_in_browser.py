"""Incidents in a real browser: what comes is announced, and nothing moves under the pointer."""

import pytest
from django.test import Client
from playwright.sync_api import expect

from tests.admin.conftest import staff
from tests.admin.test_incidents import PERMISSIONS, fail
from workers.desk.models import Incident
from workers.desk.store import incidents
from workers.supervisor import beat_schedule

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def visitor(db) -> Client:
    return staff("ann", *(f"{name}_incident" for name in PERMISSIONS))


@pytest.fixture
def incident(db) -> Incident:
    beat_schedule.ensure_flow()
    for number in range(3):
        fail(number)
    incidents.collect()
    return Incident.objects.get()


def test_what_came_meanwhile_is_announced_and_no_member_moves(page, incident):
    page.goto(f"/admin/desk/incident/{incident.pk}/change/")
    first = page.locator("#result_list tbody tr").first
    before = first.bounding_box()
    fail(7)
    incidents.collect()
    expect(page.locator(".sas-came")).to_contain_text("1 more since you opened", timeout=15_000)
    expect(first).to_contain_text("Order 2")
    assert first.bounding_box() == before
    page.click(".sas-came a")
    expect(page.locator("#result_list tbody tr").first).to_contain_text("Order 7")


def test_the_desk_stays_still_under_the_pointer(page, incident):
    page.goto("/admin/")
    rows = page.locator(".sas-incidents tbody tr")
    expect(rows).to_have_count(1)
    rows.first.hover()
    fail(8, code="http_422")
    incidents.collect()
    page.wait_for_timeout(7_000)
    expect(rows).to_have_count(1)
    page.mouse.move(0, 0)
    expect(rows).to_have_count(2, timeout=15_000)


def test_it_is_taken_and_noted_by_its_forms(page, incident):
    page.goto(f"/admin/desk/incident/{incident.pk}/change/")
    page.get_by_role("textbox", name="Note").fill("They know.")
    page.get_by_role("button", name="Write a note").click()
    expect(page.locator(".sas-note")).to_contain_text("They know.")
    page.get_by_role("link", name="Take…").click()
    page.get_by_role("button", name="Take").click()
    expect(page.locator(".sas-head")).to_contain_text("taken")
