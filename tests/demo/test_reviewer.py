"""The demo's operator decides on large orders of its own run."""

import pytest

from orders.models import Order, Product
from orders.submission import Customer, Line, place_order
from sasproject.demo.cohort import Cohort
from sasproject.demo.reviewer import Reviewer
from sasproject.demo.voice import Voice
from workers.supervisor import beat_schedule

pytestmark = pytest.mark.django_db


@pytest.fixture
def reviewer(wire) -> Reviewer:
    """A reviewer of a run with three large orders and a small one."""
    beat_schedule.ensure_flow()
    Product.objects.create(sku="SKU-1", name="Lamp", price="100.00", stock=1000)
    for place, quantity in enumerate((10, 10, 1, 10)):
        place_order(
            Customer("Ann", "ann@example.org", "Street 1"),
            [Line("SKU-1", quantity)],
            submission_key=f"key-{place}",
            source="demo",
            reference="run-1",
        )
    wire.run_until_idle()
    return Reviewer(Cohort("run-1"), Voice(None))


def large() -> list[Order]:
    return list(Order.objects.filter(total__gte=1000).order_by("number"))


def test_every_large_order_is_decided_on_once(reviewer):
    assert reviewer.waiting() == [order.number for order in large()]

    reviewer.decide_all()
    reviewer.decide_all()

    assert reviewer.waiting() == []
    declined = sum(order.number % 3 == 0 for order in large())
    assert (reviewer.accepted, reviewer.declined) == (3 - declined, declined)


def test_the_oldest_is_decided_on_first(reviewer, wire):
    first, *others = large()
    assert reviewer.decide_oldest(accept=False) is True
    assert reviewer.waiting() == [order.number for order in others]
    wire.run_until_idle()
    first.process.refresh_from_db()
    assert first.process.state == "compensated"


def test_where_none_waits_nothing_is_decided(reviewer):
    reviewer.decide_all()
    assert reviewer.decide_oldest(accept=True) is False


def test_another_runs_orders_are_none_of_its_business(reviewer):
    Order.objects.update(reference="run-2")
    assert reviewer.waiting() == []
