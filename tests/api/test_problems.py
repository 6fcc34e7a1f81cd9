"""Problem documents have types that resolve, and what HTTP itself promises of answers holds."""

import json

import pytest
from django.test import Client

from orders.api.problem_types import TYPES
from orders.schemas import EVENTS
from tests.api.conftest import BODY
from tests.api.test_openapi import PUBLISHED

JOURNAL = PUBLISHED.parent / "journal.md"


def test_every_type_has_a_page():
    for code, kind in TYPES.items():
        assert kind.uri == f"/api/v1/problems/{code}"
        page = Client().get(kind.uri)
        assert (page.status_code, page["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert f"<h1>{kind.title}</h1>" in page.content.decode()
        assert code in page.content.decode()
        assert f"`{code}`" in (PUBLISHED.parent / "errors.md").read_text()
    assert Client().get("/api/v1/problems/nonsense").status_code == 404


def test_a_problem_names_its_type_and_itself(acme, problem, caplog):
    caplog.set_level("INFO")
    acme.place("k")
    answers = {
        "key-reused": problem(acme.place("k", reference="x"), 422),
        "order-refused": problem(acme.place("l", lines=[{"sku": "X", "quantity": 1}]), 422),
        "fields-invalid": problem(acme.place("m", lines=[]), 422),
        "malformed-request": problem(acme.post("/orders", b"{", key="n"), 400),
        "not-found": problem(acme.get("/nowhere"), 404),
        "not-authenticated": problem(Client().get("/api/v1/orders"), 401),
        "method-not-allowed": problem(Client().put("/api/v1/orders"), 405),
    }
    for code, said in answers.items():
        assert (said["code"], said["type"]) == (code, f"/api/v1/problems/{code}")
        assert said["title"] == TYPES[code].title
        assert said["instance"].startswith("urn:uuid:")
        assert said["instance"] in [getattr(one, "instance", None) for one in caplog.records]
    assert len({said["instance"] for said in answers.values()}) == len(answers)


@pytest.mark.parametrize(
    ("body", "field"),
    [([], "body"), (BODY | {"customer": 7}, "customer"), (BODY | {"lines": ["x"]}, "lines.0")],
)
def test_what_is_no_object_is_told_so_in_plain_words(acme, problem, body, field):
    said = problem(acme.post("/orders", body, key="k"), 422)
    assert said["errors"] == [{"field": field, "problem": "must be an object"}]


@pytest.mark.parametrize(("sent", "status"), [("2.0", 201), ("2e0", 201), ("2.5", 422)])
def test_a_whole_number_may_be_written_as_json_has_it(acme, sent, status):
    raw = json.dumps(BODY).replace('"quantity": 2', f'"quantity": {sent}').encode()
    assert acme.post("/orders", raw, key="k").status_code == status


def test_capital_letters_in_an_id_are_the_same_id(acme):
    order = acme.place().json()["id"]
    assert acme.get(f"/orders/{order.upper()}").json()["id"] == order


def test_whatever_can_be_got_has_a_head_of_the_same_length(acme, problem):
    order = acme.place().json()["id"]
    token = {"Authorization": f"Bearer {acme.token}"}
    paths = ["orders", f"orders/{order}", f"orders/{order}/journal", "openapi.json", "nowhere"]
    for path in paths:
        whole = Client().get(f"/api/v1/{path}", headers=token)
        head = Client().head(f"/api/v1/{path}", headers=token)
        assert (head.status_code, head.content) == (whole.status_code, b""), path
        assert head["Content-Length"] == str(len(whole.content))
    refused = Client().head(f"/api/v1/orders/{order}/cancel", headers=token)
    assert (refused.status_code, refused["Allow"]) == (405, "POST")
    assert Client().put("/api/v1/orders")["Allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("method", ["put", "delete", "post", "options", "patch"])
def test_the_description_can_be_got_and_nothing_else(problem, method):
    answer = getattr(Client(), method)("/api/v1/openapi.json")
    problem(answer, 405)
    assert answer["Allow"] == "GET, HEAD"


def test_no_answer_is_kept_by_a_cache(acme):
    for answer in (
        acme.place(),
        acme.get("/orders"),
        acme.get("/nowhere"),
        Client().get("/api/v1/orders"),
    ):
        assert answer["Cache-Control"] == "no-store"


def test_the_description_has_headers_and_enumerations():
    schema = json.loads(PUBLISHED.read_text())
    place = schema["paths"]["/api/v1/orders"]["post"]["responses"]
    assert "Location" in place["201"]["headers"]
    assert "WWW-Authenticate" in place["401"]["headers"]
    assert {"Retry-After"} == set(place["429"]["headers"]) == set(place["503"]["headers"])
    assert schema["servers"] == [{"url": "/"}]
    models = schema["components"]["schemas"]
    assert "reference" not in models["OrderIn"]["required"]
    for name in ("CustomerIn", "LineIn", "OrderIn", "FaultIn"):
        assert not [one for one in models[name]["properties"].values() if "default" in one]
    assert len(models["CallbackIn"]["oneOf"]) == 3
    assert "processed" in models["OrderOut"]["properties"]["state"]["enum"]
    assert "noted" in models["CallbackOut"]["properties"]["outcome"]["enum"]


def test_the_events_of_the_description_are_those_that_clients_see():
    rows = [
        line.split(" | ") for line in JOURNAL.read_text().splitlines() if line.startswith("| `")
    ]
    numbered = [row[0] for row in rows if len(row) > 3 and row[2] not in ("no", "")]
    names = {name.strip("` ") for cell in numbered for name in cell.strip("| ").split(",")}
    assert set(EVENTS) == names
