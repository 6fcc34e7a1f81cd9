"""Every page of the admin, as it looks with rows, in both themes and at two widths."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from playwright.sync_api import Page

from tests import axe
from tests.admin.hostile import fill, root
from tests.admin.test_accessible import THEMES, WIDTHS, open_page
from tests.admin.test_escaping import walk

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

#: What tells two pages of one kind apart.
ONE_OF_EACH = re.compile(r"\d+|\?.*$")


def addresses(client: Client) -> Iterator[str]:
    """Yield one address of each kind of page; no part that a poll asks for, none of Django's."""
    met = set()
    _, pages = walk(client)
    for url in pages:
        kind = ONE_OF_EACH.sub("", url)
        is_ours = not any(part in url for part in ("/live/", "/history/", "/delete/"))
        if kind not in met and is_ours and not url.endswith(("/needs/", "/desk/")):
            met.add(kind)
            yield url


def width_of(page: Page) -> int:
    """Return how wide a page is with everything open, but filters: a browser remembers those."""
    return int(
        page.evaluate(
            "() => { for (const one of document.querySelectorAll("
            "'details:not([data-filter-title])')) one.open = true;"
            " return document.documentElement.scrollWidth; }"
        )
    )


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_on_any_page(browser, live_server, wire, theme, width):
    user = root()
    fill(wire, user)
    client = Client()
    client.force_login(user)
    page = open_page(browser, live_server.url, client, theme, width)
    found: dict[str, object] = {}
    for url in list(addresses(client)):
        page.goto(url)
        if wrong := axe.violations(page):
            found[url] = wrong
        if (wide := width_of(page)) > width:
            found[url] = f"{wide} px wide"
    assert found == {}
