"""Pages for what went wrong."""

import pytest
from django.db import DatabaseError
from django.template.loader import render_to_string
from django.test import Client

from orders.views import catalogue


@pytest.mark.django_db
def test_not_found_is_friendly_and_leads_back(client: Client) -> None:
    answer = client.get("/no/such/page/")

    assert answer.status_code == 404
    assert "Nothing on this shelf" in answer.content.decode()
    assert 'href="/"' in answer.content.decode()


def test_a_broken_page_is_friendly_and_needs_no_database(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise DatabaseError("the database is away")

    monkeypatch.setattr(catalogue, "Basket", fail)
    client.raise_request_exception = False

    answer = client.get("/")

    assert answer.status_code == 500
    assert "Something broke on our side" in answer.content.decode()


def test_the_page_of_a_broken_server_needs_no_request() -> None:
    assert "it will not be ordered twice" in render_to_string("500.html")
