"""Every page of the admin costs few queries, and no more for more rows."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.admin.hostile import fill, root
from tests.admin.test_escaping import pages_of_the_admin, walk
from workers.testing import Wire

pytestmark = pytest.mark.django_db

#: Fewer than so many, whatever the page.
MOST = 15


def queries_of(client: Client, url: str) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200, url
    return [query["sql"] for query in queries.captured_queries]


def test_every_page_is_made_with_few_queries(wire: Wire) -> None:
    user = root()
    fill(wire, user)
    client = Client()
    client.force_login(user)
    visited, pages = walk(client)
    assert pages_of_the_admin() - visited == set()
    costs = {url: len(queries_of(client, url)) for url in pages}
    assert {url: cost for url, cost in costs.items() if cost >= MOST} == {}
