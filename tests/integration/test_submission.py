"""Accepting an order: all of it or nothing, once per key, whatever the broker does."""

from typing import Any

import pytest
from django.db import transaction

from orders.models import Order, OrderLine, Product
from orders.submission import Customer, KeyReused, Line, SubmissionRefused, place_order
from workers.definitions.agent import DEFAULT_QUEUE
from workers.models import Journal, Process, Step
from workers.wire import dispatch

ANN = Customer("Ann", "ann@example.org", "Street 1")


@pytest.fixture(autouse=True)
def products() -> None:
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)
    Product.objects.create(sku="SKU-2", name="Chair", price="70.00", stock=1)
    Product.objects.create(sku="SKU-3", name="Old", price="1.00", stock=5, is_listed=False)


def place(lines: list[Line] | None = None, key: str = "key-1", **other: Any) -> tuple[Order, bool]:
    return place_order(
        other.pop("customer", ANN),
        lines or [Line("SKU-1", 2), Line("SKU-2", 1)],
        submission_key=key,
        source="api",
        **other,
    )


def counts() -> tuple[int, ...]:
    models = (Order, OrderLine, Process, Step, Journal)
    return tuple(model.objects.count() for model in models)


def test_an_order_its_lines_its_process_and_all_steps_are_made_together():
    order, is_new = place(reference="ref-7")

    order.refresh_from_db()
    assert is_new
    assert (str(order.total), order.reference, order.customer_email) == (
        "89.00",
        "ref-7",
        "ann@example.org",
    )
    # With the notice to the buyer: a process of one step.
    assert counts() == (1, 2, 2, 7, 2)
    assert order.process.subject == f"Order {order.number}"
    assert order.process.input == {
        "number": order.number,
        "id": str(order.public_id),
        "total": "89.00",
        "customer": {"name": "Ann", "email": "ann@example.org", "address": "Street 1"},
        "lines": [
            {"sku": "SKU-1", "quantity": 2, "name": "Lamp", "price": "9.50"},
            {"sku": "SKU-2", "quantity": 1, "name": "Chair", "price": "70.00"},
        ],
    }
    assert order.process.state == "pending"


def test_numbers_go_up_and_the_database_s_own_follow_them():
    first, _ = place(key="a")
    second, _ = place(key="b")

    assert second.number == first.number + 1
    assert Order.objects.latest("number").number == second.number


@pytest.mark.fault("F5")
def test_a_caller_that_rolls_back_leaves_nothing():
    def place_and_fail() -> None:
        with transaction.atomic():
            place()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        place_and_fail()

    assert counts() == (0, 0, 0, 0, 0)


def test_the_same_key_and_content_return_the_first_order():
    first, _ = place()
    before = counts()

    again, is_new = place()

    assert (again, is_new) == (first, False)
    assert counts() == before


@pytest.mark.parametrize(
    "other",
    [
        {"lines": [Line("SKU-1", 3)]},
        {"customer": Customer("Bob", "ann@example.org", "Street 1")},
        {"reference": "other"},
    ],
    ids=["lines", "customer", "reference"],
)
def test_the_same_key_with_other_content_is_refused(other):
    first, _ = place()
    before = counts()

    with pytest.raises(KeyReused) as refused:
        place(**other)

    assert refused.value.order == first
    assert counts() == before


def test_the_same_key_of_another_submitter_is_another_order():
    first, _ = place(submitter="a")
    second, is_new = place(submitter="b")

    assert (is_new, first.number != second.number) == (True, True)


@pytest.mark.parametrize(
    ("lines", "field", "said"),
    [
        ([Line("SKU-9", 1)], "lines.0.sku", "do not sell"),
        ([Line("SKU-1", 1), Line("SKU-3", 1)], "lines.1.sku", "do not sell"),
        ([Line("SKU-1", 1), Line("SKU-2", 2)], "lines.1.quantity", "Only 1"),
        ([Line("SKU-1", 0)], "lines.0.quantity", "1 or more"),
        ([Line("SKU-1", 1), Line("SKU-1", 1)], "lines.1.sku", "listed twice"),
    ],
    ids=["unknown", "unlisted", "sold out", "nothing", "twins"],
)
def test_a_line_that_cannot_be_sold_is_refused_by_its_field(lines, field, said):
    with pytest.raises(SubmissionRefused) as refused:
        place(lines)

    assert list(refused.value.errors) == [field]
    assert said in refused.value.errors[field]
    assert counts() == (0, 0, 0, 0, 0)


def test_an_order_without_lines_is_refused():
    with pytest.raises(SubmissionRefused, match="at least one line"):
        place_order(ANN, [], submission_key="k", source="api")


@pytest.mark.fault("F10")
def test_the_nudge_leaves_after_the_commit_and_may_fail(
    wire, monkeypatch, django_capture_on_commit_callbacks
):
    nudges: list[str] = []
    monkeypatch.setattr(dispatch, "wake_agents_later", lambda queue: nudges.append(queue) or 1 / 0)

    with django_capture_on_commit_callbacks(execute=True):
        place()
        assert nudges == []

    assert set(nudges) == {DEFAULT_QUEUE}
    assert Order.objects.count() == 1
