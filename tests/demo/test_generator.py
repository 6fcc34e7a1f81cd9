"""The submitter: it counts what was accepted, and asks again with the same key."""

import time
from itertools import islice
from typing import Any

import pytest
from django.db import OperationalError

from orders.models import Order, Product
from orders.submission import SubmissionRefused
from sasproject.demo import generator, script
from sasproject.demo.generator import Generator
from tests.factories import ProductFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _catalogue() -> None:
    for number in range(1, script.PRODUCTS + 1):
        ProductFactory(sku=f"SKU-{number:03}", stock=1000)


def made(limit: int | None = 3, **options: Any) -> Generator:
    return Generator(
        script.purchases(7), reference="demo-x", per_second=1000, limit=limit, **options
    )


def run(generator: Generator, seconds: float = 20) -> None:
    generator.start()
    limit = time.monotonic() + seconds
    while not generator.is_finished:
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_generator_places_orders_as_scripted():
    placing = made(5)
    run(placing)
    assert placing.problem is None
    orders = Order.objects.order_by("number")
    assert [order.number for order in orders] == placing.accepted
    wanted = [purchase.customer.name for purchase in islice(script.purchases(7), 5)]
    assert [order.customer_name for order in orders] == wanted
    assert {(order.source, order.reference) for order in orders} == {("demo", "demo-x")}
    assert len({order.submission_key for order in orders}) == 5


def test_a_lost_answer_is_asked_for_again_with_the_same_key(monkeypatch):
    place, calls = generator.place_order, []

    def lose_the_first_answer(*args: Any, **columns: Any) -> Any:
        calls.append(columns["submission_key"])
        answer = place(*args, **columns)
        if len(calls) == 1:
            raise OperationalError("the connection was lost after the commit")
        return answer

    monkeypatch.setattr(generator, "place_order", lose_the_first_answer)
    monkeypatch.setattr(generator, "RETRY_SECONDS", 0)
    placing = made(2)
    run(placing)
    assert calls[0] == calls[1] != calls[2]
    assert len(placing.accepted) == Order.objects.count() == 2


def test_a_refused_purchase_is_left_out():
    # Every third purchase or so wants it.
    Product.objects.filter(sku__in=["SKU-001", "SKU-002", "SKU-003"]).update(is_listed=False)
    placing = made(6)
    run(placing)
    assert len(placing.accepted) == 6


def test_nothing_but_refusals_is_a_problem():
    Product.objects.update(is_listed=False)
    placing = made(1)
    run(placing)
    assert isinstance(placing.problem, SubmissionRefused)
    assert placing.accepted == []


def test_stop_ends_it_also_while_the_database_is_away(monkeypatch):
    def away(*args: Any, **columns: Any) -> Any:
        raise OperationalError("away")

    monkeypatch.setattr(generator, "place_order", away)
    placing = made(None)
    placing.start()
    time.sleep(0.05)
    placing.stop()
    assert placing.is_finished
    assert (placing.accepted, placing.problem) == ([], None)


def test_stop_before_the_start_is_fine():
    made().stop()
