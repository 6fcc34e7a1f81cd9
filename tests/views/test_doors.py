"""Doors by ``path("sas/", include("workers.urls"))``, without the shop: what is not read."""

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from orders.api.problem_types import OF_STATUS
from workers.views.problems import CODES

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.views.urls")]


def problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert "no-store" in answer["Cache-Control"]
    document: dict[str, Any] = json.loads(answer.content)
    assert (document["type"], document["status"]) == ("about:blank", status)
    assert document["code"] == CODES[status]
    assert document["title"]
    assert document["detail"]
    assert document["instance"].startswith("urn:uuid:")
    return document


def test_the_addresses_have_names():
    assert reverse("workers:callback", args=["x:y"]) == "/sas/callbacks/x:y"
    assert reverse("workers:webhook", args=["bank"]) == "/sas/webhooks/bank"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Length": "", "Transfer-Encoding": "chunked"}, 411),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Content-Length": "-1"}, 400),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/sas/callbacks/x", "/sas/webhooks/toy-pay"])
def test_a_body_that_is_not_to_be_read_is_not(path, headers, status):
    problem(Client().post(path, b"{}", content_type="application/json", headers=headers), status)


@pytest.mark.parametrize("method", ["get", "put", "delete", "head", "options"])
def test_other_methods_are_refused(method):
    answer = getattr(Client(), method)("/sas/callbacks/x")

    assert (answer.status_code, answer["Allow"]) == (405, "POST")


def test_where_the_database_is_away_it_may_come_again(asked, monkeypatch):
    def gone(*args: Any, **options: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("workers.store.operate.record_answers.by_key", gone)
    answer = Client().post(f"/sas/callbacks/{asked[1]}", {"result": {}}, "application/json")

    assert "database is away" in problem(answer, 503)["detail"]
    assert answer["Retry-After"] == "5"


def test_the_codes_are_those_of_the_shop():
    assert {status: OF_STATUS[status].code for status in CODES} == CODES
