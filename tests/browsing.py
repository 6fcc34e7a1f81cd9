"""A real browser on the test's own pages, under the content security policy they are sent with."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Response, sync_playwright

from tests.services import missing

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


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
    """Yield a page that must come with a policy, and whose console must stay empty.

    A script or a style that the policy blocks is told in the console.
    """
    page = browser.new_page(base_url=base_url)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda response: complaints.extend(_lack_of_policy(response)))
    yield page
    page.close()
    assert complaints == [], complaints


def sign_in(context: BrowserContext, url: str, client: Client) -> None:
    """Have a browser come as the user of a test's client."""
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": url}])


def _lack_of_policy(response: Response) -> list[str]:
    """Return that a page came without a policy: nothing would be blocked, and all seem well."""
    if response.request.resource_type != "document":
        return []
    policy = response.headers.get("content-security-policy", "")
    if "default-src 'none'" in policy and "unsafe" not in policy:
        return []
    return [f"{response.url} has the policy {policy!r}"]
