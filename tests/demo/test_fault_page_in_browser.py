"""The fault page in a browser: for everybody, in both themes, at two widths; and by itself."""

import os
from collections.abc import Iterator

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from orders.sandbox.server import Sandbox
from tests import axe
from tests.admin.conftest import staff
from tests.admin.test_accessible import THEMES, WIDTHS, open_page
from tests.demo.test_fault_page import NOWHERE, PAGE, incident, running
from tests.sandbox.caller import Caller
from workers.desk.models import Incident

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def services(settings, tmp_path) -> Iterator[Caller]:
    settings.FAULT_PAGE = True
    settings.RUN_DIR = tmp_path
    with Sandbox(tmp_path / "sandbox.sqlite3") as sandbox:
        settings.SANDBOX_URL = sandbox.url
        yield Caller(sandbox.url)


def operator() -> Client:
    return staff("operator", "operate_flow")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(browser, live_server, services, settings, tmp_path, theme, width):
    running(tmp_path, agents=[os.getpid()], beat=[], web=[os.getpid()])
    services.set_faults("payment", down=True, latency_seconds=3)
    incident()
    incident(key="resolved", state="resolved", resolved_at=timezone.now(), members=0)
    page = open_page(browser, live_server.url, operator(), theme, width)
    page.goto(PAGE)
    assert axe.violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    settings.SANDBOX_URL = NOWHERE
    page.goto(PAGE)
    assert axe.violations(page) == []


def test_the_incident_of_a_fault_comes_and_goes_by_itself(browser, live_server, services):
    page = open_page(browser, live_server.url, operator(), "light", 1280)
    page.goto(PAGE)
    page.select_option("#id_service", "payment")
    page.select_option("#id_fault", "down")
    page.click("text=Apply")
    expect(page.locator(".messagelist")).to_have_text("Payment is down: 503 to every call.")
    assert services.faults("payment") == {"down": True}

    row = incident()
    rows = page.locator(".sas-incidents tbody tr")
    expect(rows).to_contain_text("open", timeout=15_000)
    Incident.objects.filter(pk=row.pk).update(state="resolved", resolved_at=timezone.now())
    expect(rows).to_contain_text("resolved", timeout=15_000)
