"""A real browser on the test's own pages, under a strict content security policy."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from tests.services import missing

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"


@contextmanager
def launched() -> Iterator[Browser]:
    """Yield a browser, or skip the test where there is none (in CI: fail it)."""
    if CHROMIUM is None:
        missing("no Chromium on this machine")
    with pytest.MonkeyPatch.context() as monkeypatch, sync_playwright() as playwright:
        # Playwright keeps an event loop in this thread, which Django takes for async code.
        monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@contextmanager
def watched_page(browser: Browser, base_url: str) -> Iterator[Page]:
    """Yield a page whose console must stay empty: a blocked script or style is told there."""
    page = browser.new_page(base_url=base_url)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.route("**/*", add_policy)
    yield page
    page.unroute_all(behavior="wait")
    page.close()
    assert complaints == []


def add_policy(route: Route) -> None:
    answer = route.fetch(max_redirects=0)
    route.fulfill(response=answer, headers={**answer.headers, "content-security-policy": POLICY})
