"""The description of the API: complete, and the one that is published."""

import json
import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from orders.api import api
from tests.hostile.envelopes import CALLBACK_URLS

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "reference" / "openapi.json"
#: Bounds as pydantic calls them: it writes them so where it cannot tell what they bound.
NO_SCHEMA = {"ge", "gt", "le", "lt", "min_length", "max_length", "multiple_of"}


def test_the_published_file_is_what_the_code_says():
    assert json.loads(PUBLISHED.read_text()) == json.loads(
        json.dumps(api.get_openapi_schema(), default=str)
    ), "Write it again with: manage.py export_openapi"


def test_every_bound_is_one_that_makers_of_clients_know():
    schemas = api.get_openapi_schema()["components"]["schemas"]
    for name, schema in schemas.items():
        for field, about in schema.get("properties", {}).items():
            assert not NO_SCHEMA & set(about), f"{name}.{field}"
    quantity = schemas["LineIn"]["properties"]["quantity"]
    assert (quantity["minimum"], quantity["maximum"]) == (1, 1_000_000)


def test_every_error_is_a_problem_document():
    for path in api.get_openapi_schema()["paths"].values():
        for operation in path.values():
            statuses = set(operation["responses"])
            assert {400, 422} <= {int(status) for status in statuses}
            for status, answer in operation["responses"].items():
                wanted = "application/json" if int(status) < 400 else "application/problem+json"
                assert set(answer["content"]) == {wanted}


def test_the_file_is_open_and_the_page_is_for_staff():
    assert Client().get("/api/v1/openapi.json").json()["openapi"] == "3.1.0"
    assert Client().get("/api/v1/docs").status_code == 302


def test_the_page_loads_nothing_from_elsewhere():
    user = get_user_model().objects.create_user("ann", password="x", is_staff=True)
    client = Client()
    client.force_login(user)
    text = client.get("/api/v1/docs").content.decode()
    assert "https://" not in text


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/orders/not-a-uuid"])
def test_an_address_that_is_not_there_is_404(path):
    assert Client().get(path).status_code == 404


def test_what_a_webhook_s_address_may_be_is_said_where_a_pattern_can():
    order = api.get_openapi_schema()["components"]["schemas"]["OrderIn"]["properties"]
    pattern = re.compile(order["callback_url"]["pattern"])
    names = ("", "acme.example", "acme.example.", "xn--bcher-kva.example", "8.example", "a1.b2")
    hosts = (*names[1:], "acme.example:65535", "acme.example:", "1.1.1.1", "[2606:4700::1]")
    assert all(map(pattern.search, ["", *(f"https://{host}/a?b=@" for host in hosts)]))
    # What a name stands for, and that 0x7f.1 is a number, is no pattern's to say.
    told = {url for url, says in CALLBACK_URLS.items() if says != "not public" and "0x" not in url}
    assert [url for url in told if pattern.search(url)] == []
    assert len(told) > 20
