"""Placing, following and cancelling orders over HTTP, as the contract says."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.models import Order
from tests.api.conftest import BODY, Caller
from workers.models import Journal, Process

Problem = Callable[[Any, int], dict[str, Any]]


def test_an_order_is_accepted_with_its_location(acme):
    answer = acme.place()

    assert answer.status_code == 201
    found = answer.json()
    order = Order.objects.get()
    assert answer["Location"] == f"/api/v1/orders/{order.public_id}"
    assert found["id"] == str(order.public_id)
    assert found["number"] == order.number
    assert found["state"] == "pending"
    assert found["total"] == "19.00"
    assert [step["name"] for step in found["steps"]][:2] == ["reserve_stock", "review"]
    assert (order.submitter, order.source, order.submission_key) == ("client:acme", "api", "key-1")
    assert order.process.lane == "client:acme"


def test_placing_an_order_costs_bounded_number_of_queries(acme):
    acme.place("first")
    with CaptureQueriesContext(connection) as captured:
        first = acme.place().json()
    # A later read shows the same order; only its reasons to wait may differ.
    shown = acme.get(f"/orders/{first['id']}").json()

    said = [query["sql"].partition(" ")[0] for query in captured]
    assert len([word for word in said if word in {"SELECT", "INSERT", "UPDATE"}]) <= 11, said
    for order in (first, shown):
        del order["headline"]
        for step in order["steps"]:
            del step["explanation"]
    assert first == shown


def test_the_same_key_and_body_is_the_same_order(acme):
    first = acme.place().json()
    again = acme.post("/orders", dict(reversed(BODY.items())), key="key-1")
    assert again.status_code == 200
    assert again.json()["id"] == first["id"]
    assert Order.objects.count() == 1


def test_the_same_key_with_another_body_names_the_first_order(acme, problem):
    number = acme.place().json()["number"]
    body = problem(acme.place(reference="cart-2"), 422)
    assert f"order {number}" in body["detail"]
    assert body["errors"][0]["field"] == "Idempotency-Key"
    assert Order.objects.count() == 1


def test_two_clients_may_use_the_same_key(acme):
    acme.place()
    assert Caller("other").place().status_code == 201
    assert Order.objects.count() == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"customer": {**BODY["customer"], "email": "nobody"}}, "customer.email"),
        ({"customer": {**BODY["customer"], "name": ""}}, "customer.name"),
        ({"customer": {**BODY["customer"], "name": "a\tb"}}, "customer.name"),
        ({"customer": {**BODY["customer"], "vat": "1"}}, "customer.vat"),
        ({"customer": None}, "customer"),
        ({"lines": []}, "lines"),
        ({"lines": [{"sku": "SKU-1", "quantity": 0}]}, "lines.0.quantity"),
        ({"lines": [{"sku": "SKU-1", "quantity": "2"}]}, "lines.0.quantity"),
        ({"lines": [{"sku": "SKU-1", "quantity": 1.5}]}, "lines.0.quantity"),
        ({"lines": [{"sku": "SKU-1", "quantity": True}]}, "lines.0.quantity"),
        ({"lines": [{"sku": "NONE", "quantity": 1}]}, "lines.0.sku"),
        ({"lines": [{"sku": "SKU-1", "quantity": 101}]}, "lines.0.quantity"),
        ({"lines": [BODY["lines"][0], BODY["lines"][0]]}, "lines.1.sku"),
        ({"reference": "x" * 101}, "reference"),
        ({"total": "0.01"}, "total"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_invalid_names_the_field_and_stores_nothing(acme, problem, changes, field):
    body = problem(acme.place(**changes), 422)
    assert [one["field"] for one in body["errors"]] == [field]
    assert not Order.objects.exists()
    assert not Process.objects.exists()


@pytest.mark.parametrize("key", [None, "", "a b", "x" * 201, "schl\u00fcssel"])
def test_a_key_is_needed_and_plain(acme, problem, key):
    assert "Idempotency-Key" in str(problem(acme.post("/orders", BODY, key=key), 422))
    assert not Order.objects.exists()


@pytest.mark.fault("F30")
@pytest.mark.parametrize(
    ("raw", "status", "says"),
    [
        (b"{", 400, "no JSON"),
        (b"\xff\xfe", 400, "not UTF-8"),
        (b'{"a": NaN}', 400, "NaN"),
        (b'{"a": 1, "a": 2}', 400, "given twice"),
        (b'{"a": "\\u0000"}', 400, "NUL"),
        (b'{"a": "\\ud800"}', 400, "a lone surrogate"),
        (b'{"__type__": "x"}', 400, "__type__"),
        (b"[" * 5000 + b"]" * 5000, 400, "nested deeper"),
        (b'{"a": 1' + b"0" * 5000 + b"}", 400, "digits"),
        (b'{"a": "' + b"x" * 70_000 + b'"}', 413, "bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_body_of_ours_is_refused_and_harms_nothing(
    acme: Caller, problem: Problem, raw: bytes, status: int, says: str
) -> None:
    assert says in problem(acme.post("/orders", raw, key="key-1"), status)["detail"]
    assert not Order.objects.exists()
    assert acme.place().status_code == 201


@pytest.mark.fault("F10")
def test_a_broker_that_is_down_changes_nothing(acme, wire):
    wire.is_down = True
    assert acme.place().status_code == 201


def test_an_order_is_followed_to_its_end(acme, wire, sandbox):
    placed = acme.place().json()
    wire.run_until_idle()

    found = acme.get(f"/orders/{placed['id']}").json()
    assert found["state"] == "processed"
    events = acme.get(f"/orders/{placed['id']}/journal").json()["events"]
    assert [event["sequence"] for event in events] == list(range(1, found["sequence"] + 1))
    assert (events[0]["event"], events[-1]["event"]) == ("submitted", "processed")
    later = acme.get(f"/orders/{placed['id']}/journal", after=events[-2]["sequence"]).json()
    assert later["events"] == events[-1:]


def test_nothing_of_the_inside_is_told(acme, wire):
    placed = acme.place().json()
    text = json.dumps(placed) + acme.get(f"/orders/{placed['id']}/journal").content.decode()
    assert "locked_by" not in text
    assert "idempotency_key" not in text
    assert "actor" not in text


def test_waiting_ends_when_time_is_up_or_the_order_is_final(acme):
    path = f"/orders/{acme.place().json()['id']}"
    placed = acme.get(path).json()
    assert acme.get(path, wait=0.3).json() == placed
    Process.objects.update(state="processed", finished_at="2026-01-01T00:00:00Z")
    assert acme.get(f"/orders/{placed['id']}", wait=20).json()["state"] == "processed"


@pytest.mark.parametrize("wait", ["-1", "31", "soon", "nan", "inf"])
def test_a_wait_out_of_bounds_is_refused(acme, problem, wait):
    placed = acme.place().json()
    problem(acme.get(f"/orders/{placed['id']}", wait=wait), 422)


def test_the_list_is_paged_and_filtered(acme):
    placed = [acme.place(f"key-{n}", reference=f"r-{n % 2}").json()["number"] for n in range(5)]
    Caller("other").place()

    first = acme.get("/orders", limit=2).json()
    assert [order["number"] for order in first["orders"]] == placed[:2:-1]
    second = acme.get("/orders", limit=2, after=first["next"]).json()
    third = acme.get("/orders", limit=2, after=second["next"]).json()
    assert [order["number"] for order in second["orders"] + third["orders"]] == placed[2::-1]
    assert third["next"] is None
    assert len(acme.get("/orders", reference="r-1").json()["orders"]) == 2
    assert acme.get("/orders", state="processed").json()["orders"] == []


@pytest.mark.parametrize(
    "query", [{"state": "lost"}, {"after": "x"}, {"limit": 0}, {"limit": 201}], ids=str
)
def test_a_filter_that_cannot_be_is_refused(acme, problem, query):
    problem(acme.get("/orders", **query), 422)


class TestCancelling:
    def test_an_order_under_way_is_turned_round_once(self, acme):
        placed = acme.place().json()
        path = f"/orders/{placed['id']}/cancel"
        answers = [acme.post(path), acme.post(path)]
        assert [answer.status_code for answer in answers] == [202, 202]
        row = Journal.objects.get(event="compensating")
        assert row.actor == "client:acme"
        process = Process.objects.get(workflow="fulfilment")
        assert (process.state, process.outcome) == ("cancelled", "cancelled")

    def test_what_is_final_stays(self, acme, wire, sandbox, problem):
        placed = acme.place().json()
        wire.run_until_idle()
        problem(acme.post(f"/orders/{placed['id']}/cancel"), 409)
        assert Process.objects.get(workflow="fulfilment").state == "processed"


class TestReturning:
    def test_a_processed_order_is_sent_back_once(self, acme, wire, sandbox, problem):
        path = f"/orders/{acme.place().json()['id']}/return"
        problem(acme.post(path), 409)
        wire.run_until_idle()

        answer = acme.post(path)

        assert answer.status_code == 202
        assert answer.json()["money"]["paid"] == "19.00"
        process = Process.objects.get(workflow="return")
        assert Journal.objects.get(process=process, event="submitted").actor == "client:acme"
        assert "begun already" in problem(acme.post(path), 409)["detail"]

    def test_anothers_order_is_not_sent_back(self, acme, problem):
        problem(Caller("other").post(f"/orders/{acme.place().json()['id']}/return"), 404)


class TestOwnOrdersOnly:
    def test_anothers_order_is_not_there(self, acme, problem):
        placed = acme.place().json()
        other = Caller("other")
        for path in (f"/orders/{placed['id']}", f"/orders/{placed['id']}/journal"):
            problem(other.get(path), 404)
        problem(other.post(f"/orders/{placed['id']}/cancel"), 404)
        assert Process.objects.get(workflow="fulfilment").state == "pending"
        assert other.get("/orders").json()["orders"] == []

    def test_an_order_that_is_not_there(self, acme, problem):
        problem(acme.get(f"/orders/{uuid4()}"), 404)
