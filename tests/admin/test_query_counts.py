"""Every page of the admin costs few queries, and no more for more rows; its clocks run."""

import re
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.admin.hostile import fill, root
from tests.admin.test_escaping import pages_of_the_admin, walk

#: Fewer than so many, whatever the page; an order's page asks for its money, too.
MOST = 16


class CountingClient(Client):
    """Notes how many queries each page took: to read 470 pages twice takes half a minute."""

    def __init__(self) -> None:
        super().__init__()
        self.costs: dict[str, int] = {}

    def get(self, path: str, *words: Any, **options: Any) -> Any:
        with CaptureQueriesContext(connection) as queries:
            response = super().get(path, *words, **options)
        self.costs[path] = len(queries)
        return response


@pytest.mark.volume
def test_every_page_is_made_with_few_queries(wire):
    user = root()
    fill(wire, user)
    client = CountingClient()
    client.force_login(user)
    # Content types are asked for once in a process: they are no cost of a page.
    client.get("/admin/")
    visited, pages = walk(client)
    assert pages_of_the_admin() - visited == set()
    assert client.costs.keys() >= pages.keys()
    assert {url: cost for url, cost in client.costs.items() if cost >= MOST} == {}
    assert [url for url, html in pages.items() if RUNNING.search(html) and not begun(html)] == []


#: What a script keeps going: how long ago something was, or how long it takes yet.
RUNNING = re.compile("<time [^>]*data-(age|left)")


def begun(html: str) -> bool:
    """Say whether a page tells its clocks what the server's says."""
    stamp = re.search('data-server-now="([^"]*)"', html)
    return stamp is not None and datetime.fromisoformat(stamp[1]).utcoffset() is not None
