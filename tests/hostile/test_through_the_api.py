"""The corpus at the HTTP API: each case is refused with its field and reason, or taken as it is."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from orders.models import Order
from orders.plain_text import composed
from tests.api.conftest import Caller
from tests.hostile import corpus, envelopes

Rows = Callable[[], dict[str, int]]
Quiet = Callable[..., None]


def refused(answer: Any, status: int) -> dict[str, Any]:
    """Check that an answer is a problem document of this status, and return it."""
    assert answer.status_code == status, answer.content[:300]
    assert answer["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = json.loads(answer.content)
    assert body["status"] == status
    assert body["detail"]
    return body


def send(acme: Caller, body: Any, **options: Any) -> Any:
    raw = body if isinstance(body, bytes) else corpus.text(body)
    return acme.post("/orders", raw, key="key-1", **options)


@pytest.fixture
def nothing_stored(acme, rows, quiet) -> Any:
    """Check, when called with an answer, that it told nothing and that nothing was stored."""
    before = rows()

    def check(answer: Any) -> None:
        assert rows() == before
        quiet(answer.content.decode(), secrets=(acme.token,))

    return check


@pytest.mark.fault("F29")
@pytest.mark.parametrize("name", corpus.UNREADABLE)
def test_a_body_that_is_no_json_of_ours(acme, nothing_stored, name):
    body, word = corpus.UNREADABLE[name]
    answer = send(acme, body)
    said = refused(answer, 400)
    assert said["detail"].startswith("The body cannot be read:")
    assert word in said["detail"]
    nothing_stored(answer)
    assert send(acme, corpus.ORDER).status_code == 201


@pytest.mark.fault("F29")
def test_no_body_at_all(acme, nothing_stored):
    answer = send(acme, b"")
    assert refused(answer, 422)["errors"] == [{"field": "body", "problem": "is required"}]
    nothing_stored(answer)


@pytest.mark.fault("F30")
@pytest.mark.parametrize("name", corpus.OVERSIZED)
def test_a_body_that_is_too_large(acme, nothing_stored, name):
    answer = send(acme, corpus.OVERSIZED[name])
    assert "65536" in refused(answer, 413)["detail"]
    nothing_stored(answer)


@pytest.mark.fault("F29")
@pytest.mark.parametrize("name", corpus.WRONG)
def test_an_order_with_one_thing_wrong(acme, nothing_stored, name):
    body, field, word = corpus.WRONG[name]
    answer = send(acme, body)
    first = refused(answer, 422)["errors"][0]
    assert first["field"] == field
    assert word in first["problem"]
    nothing_stored(answer)


@pytest.mark.fault("F31")
@pytest.mark.parametrize("name", corpus.NAMES)
def test_a_text_that_looks_dangerous_is_a_text(acme, quiet, name):
    text = corpus.LEGAL[name]
    answer = send(acme, corpus.customer(name=text, address=text) | {"reference": text[:100]})

    assert answer.status_code == 201
    order = Order.objects.get()
    stored = (order.customer_name, order.customer_address, order.reference)
    assert stored == (composed(text), composed(text), text[:100])
    assert order.process.input["customer"]["name"] == composed(text)
    found = acme.get(f"/orders/{order.public_id}")
    assert found.json()["reference"] == text[:100]
    assert len(acme.get("/orders", reference=text[:100]).json()["orders"]) == 1
    quiet(answer.content.decode(), found.content.decode(), secrets=(acme.token,))


class TestEnvelope:
    @pytest.mark.fault("F29")
    @pytest.mark.parametrize("name", envelopes.KEYS)
    def test_a_key_that_is_none(self, acme, nothing_stored, name):
        answer = acme.post("/orders", corpus.ORDER, key=envelopes.KEYS[name])
        first = refused(answer, 422)["errors"][0]
        assert first["field"] == "header.Idempotency-Key"
        nothing_stored(answer)

    @pytest.mark.fault("F41")
    @pytest.mark.parametrize("name", envelopes.AUTHORIZATIONS)
    def test_a_token_that_is_none(self, acme, nothing_stored, name):
        answer = send(acme, corpus.ORDER, headers={"Authorization": envelopes.AUTHORIZATIONS[name]})
        refused(answer, 401)
        nothing_stored(answer)

    @pytest.mark.fault("F32")
    @pytest.mark.parametrize("name", envelopes.REPLY_TOS)
    def test_foreign_or_malformed_reply_to_is_refused(self, acme, nothing_stored, name):
        answer = send(acme, corpus.order(reply_to=envelopes.REPLY_TOS[name]))
        assert [one["field"] for one in refused(answer, 422)["errors"]] == ["reply_to"]
        nothing_stored(answer)

    @pytest.mark.parametrize("url", envelopes.CALLBACK_URLS)
    @pytest.mark.usefixtures("resolver")
    def test_an_address_not_to_be_called(self, acme, nothing_stored, url):
        answer = send(acme, corpus.order(callback_url=url))
        (only,) = refused(answer, 422)["errors"]
        assert only["field"] == "callback_url"
        assert envelopes.CALLBACK_URLS[url] in only["problem"]
        nothing_stored(answer)

    @pytest.mark.fault("F30")
    @pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "x-unknown", "gzip, identity"])
    def test_a_body_that_would_have_to_be_unpacked(self, acme, nothing_stored, encoding):
        bomb = gzip.compress(bytes(20_000_000))
        assert len(bomb) < 65_536
        for body in (bomb, corpus.text(corpus.ORDER)):
            answer = send(acme, body, headers={"Content-Encoding": encoding})
            assert "Content-Encoding" in refused(answer, 415)["detail"]
            nothing_stored(answer)

    @pytest.mark.fault("F30")
    def test_a_body_in_chunks(self, acme, nothing_stored):
        answer = send(
            acme, corpus.ORDER, headers={"Transfer-Encoding": "chunked"}, CONTENT_LENGTH=""
        )
        assert "Content-Length" in refused(answer, 411)["detail"]
        nothing_stored(answer)

    @pytest.mark.fault("F30")
    @pytest.mark.parametrize(
        ("length", "status"),
        [("9" * 5000, 413), ("99999999", 413), ("-1", 400), ("\u00b2", 400), ("x", 400)],
    )
    def test_a_length_that_lies(self, acme, nothing_stored, length, status):
        answer = send(acme, corpus.ORDER, CONTENT_LENGTH=length)
        refused(answer, status)
        nothing_stored(answer)

    @pytest.mark.fault("F29")
    @pytest.mark.parametrize(
        "label",
        [
            "application/x-python-serialize",
            "application/x-yaml",
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=utf-16",
            "",
        ],
    )
    def test_a_content_type_chooses_no_other_reader(self, acme, nothing_stored, label):
        for name in ("pickle", "yaml", "a form"):
            answer = send(acme, corpus.UNREADABLE[name][0], headers={"Content-Type": label})
            refused(answer, 400)
            nothing_stored(answer)
        answer = send(acme, corpus.ORDER, headers={"Content-Type": label})
        assert answer.status_code == 201


class TestQueries:
    @pytest.mark.fault("F31")
    @pytest.mark.parametrize("name", envelopes.IN_A_QUERY)
    @pytest.mark.parametrize("parameter", ["state", "reference", "after", "limit", "nobody's"])
    def test_a_list(self, acme, nothing_stored, parameter, name):
        answer = acme.get("/orders", **{parameter: envelopes.IN_A_QUERY[name]})
        if answer.status_code != 200:
            said = refused(answer, 422)
            assert said["errors"][0]["field"] == f"query.{parameter}"
        nothing_stored(answer)

    @pytest.mark.parametrize("name", ["NUL", "a word and NUL", "an escape"])
    def test_what_no_reference_can_be_is_refused(self, acme, name):
        refused(acme.get("/orders", reference=envelopes.IN_A_QUERY[name]), 422)

    def test_half_a_character_by_another_charset(self, acme, nothing_stored):
        answer = Client().get(
            "/api/v1/orders?reference=%2B2AA-",
            headers={
                "Authorization": f"Bearer {acme.token}",
                "Content-Type": "text/plain; charset=utf-7",
            },
        )
        refused(answer, 422)
        nothing_stored(answer)

    @pytest.mark.parametrize(
        "after", ["x", "-1", "1.5", "\u0663", "9" * 19, "1' OR '1'='1", "eyJpZCI6MX0=", " 1", ""]
    )
    def test_a_cursor_of_ones_own_making(self, acme, nothing_stored, after):
        answer = acme.get("/orders", after=after)
        (only,) = refused(answer, 422)["errors"]
        assert only["field"] == "query.after"
        assert "next of the page before" in only["problem"]
        nothing_stored(answer)

    @pytest.mark.parametrize("limit", ["0", "-1", "201", "1.5", "1e9", "x", "9" * 5000])
    def test_a_page_of_another_size(self, acme, nothing_stored, limit):
        answer = acme.get("/orders", limit=limit)
        assert refused(answer, 422)["errors"][0]["field"] == "query.limit"
        nothing_stored(answer)

    def test_a_parameter_given_twice(self, acme, nothing_stored):
        answer = acme.get("/orders", reference=["a", "b"])
        (only,) = refused(answer, 422)["errors"]
        assert only == {"field": "query.reference", "problem": "is given twice; send it once"}
        nothing_stored(answer)

    def test_more_parameters_than_may_be(self, acme, nothing_stored):
        answer = acme.get("/orders", **{f"a{n}": "1" for n in range(1001)})
        assert "limits" in refused(answer, 400)["detail"]
        nothing_stored(answer)

    @pytest.mark.parametrize(
        "id_",
        [
            "1",
            "x",
            "%00",
            "..",
            "0" * 32,
            "6B29FC40-CA47-1067-B31D-00DD010662DA0",
            "%F0%9F%8F%AE",
            "a" * 9000,
        ],
    )
    @pytest.mark.parametrize("rest", ["", "/journal", "/cancel"])
    def test_an_id_that_is_none(self, acme, nothing_stored, id_, rest):
        for answer in (acme.get(f"/orders/{id_}{rest}"), acme.post(f"/orders/{id_}{rest}")):
            refused(answer, 404)
            nothing_stored(answer)

    @pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "X"])
    def test_a_method_that_is_not_taken(self, acme, nothing_stored, method):
        answer = Client().generic(method, "/api/v1/orders")
        assert answer.status_code == 405
        assert answer["Allow"] == "GET, HEAD, POST"
        assert answer["Content-Type"] == "application/problem+json"
        nothing_stored(answer)

    @pytest.mark.parametrize("path", ["", "nothing", "orders/", "//", "callbacks/", "%00", "."])
    def test_an_address_that_is_not_there(self, acme, nothing_stored, path):
        for method in ("GET", "POST"):
            answer = Client(enforce_csrf_checks=True).generic(method, f"/api/v1/{path}")
            refused(answer, 404)
            nothing_stored(answer)
