"""`manage.py order cancel|compensate`: undoing from a terminal."""

import json
from functools import partial

import pytest
from django.core.management import CommandError

from orders.models import Order, Product
from orders.submission import Customer, Line, place_order
from tests.programs import said
from workers.models import Journal, Step


@pytest.fixture
def order() -> Order:
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)
    order, _ = place_order(
        Customer("Ann", "ann@example.org", "Street 1"),
        [Line("SKU-1", 1)],
        submission_key="key-1",
        source="shop",
    )
    Step.objects.filter(name="reserve_stock").update(
        state="processed", result={}, may_have_effect=True
    )
    return order


run = partial(said, "order")


@pytest.mark.parametrize(
    ("action", "outcome"), [("cancel", "cancelled"), ("compensate", "compensated")]
)
def test_an_order_is_turned_round_with_a_reason(order, action, outcome):
    said = run(action, str(order.number), "--reason", "changed mind")

    order.process.refresh_from_db()
    assert (order.process.state, order.process.outcome) == ("compensating", outcome)
    assert said == f"Order {order.number}: being undone: release_stock.\n"
    entry = Journal.objects.get(event="compensating")
    assert entry.detail["reason"] == "changed mind"
    assert entry.actor.startswith("operator:")
    assert Step.objects.get(name="release_stock").state == "pending"


def test_a_dry_run_says_what_would_be_undone_and_changes_nothing(order):
    before = list(Step.objects.values()), list(Journal.objects.values())

    said = json.loads(run("cancel", str(order.number), "--dry-run", "--json"))
    lines = run("cancel", str(order.number), "--dry-run").splitlines()

    assert (said["action"], said["done"], said["undo"]) == ("cancel", False, ["release_stock"])
    assert "Undone, in this order: release_stock by stock.release, for reserve_stock" in lines
    assert (list(Step.objects.values()), list(Journal.objects.values())) == before


def test_without_a_reason_nothing_happens(order):
    with pytest.raises(CommandError, match="--reason"):
        run("cancel", str(order.number))
    with pytest.raises(CommandError, match="nothing to resubmit"):
        run("resubmit", str(order.number), "--dry-run")

    order.process.refresh_from_db()
    assert order.process.state == "pending"


def test_an_order_that_is_over_is_not_cancelled(order):
    run("cancel", str(order.number), "--reason", "x")
    before = list(Journal.objects.values())

    with pytest.raises(CommandError, match="being undone already"):
        run("compensate", str(order.number), "--reason", "y")

    assert list(Journal.objects.values()) == before
