"""The script: the same seed, the same orders and kills, and a pace that fits a minute."""

from decimal import Decimal
from itertools import islice

import pytest

from orders.demo_data import PRODUCTS
from orders.workflows import REVIEWED_FROM
from sasproject.demo import script

ROLES = ("agents", "scheduler", "broker", "web")


def first(seed: int, count: int = 200) -> list[script.Purchase]:
    return list(islice(script.purchases(seed), count))


def test_the_same_seed_gives_the_same_script():
    assert first(7) == first(7)
    assert script.kills(7, 60, ROLES) == script.kills(7, 60, ROLES)


def test_another_seed_gives_another():
    assert first(7) != first(8)
    assert script.kills(7, 600, ROLES) != script.kills(8, 600, ROLES)


def test_only_what_is_sold_is_bought_each_product_once():
    sold = {f"SKU-{number:03}" for number in range(1, len(PRODUCTS) + 1)}
    for purchase in first(3):
        skus = [line.sku for line in purchase.lines]
        assert set(skus) <= sold
        assert len(set(skus)) == len(skus) > 0
        quantities = {line.quantity for line in purchase.lines}
        assert quantities <= {1, 2, 3} or quantities == {script.LARGE_QUANTITY}


def test_a_few_orders_are_large_enough_to_be_looked_at():
    prices = {f"SKU-{n:03}": product[1] for n, product in enumerate(PRODUCTS, 1)}
    totals = [
        sum(Decimal(prices[line.sku]) * line.quantity for line in purchase.lines)
        for purchase in first(7, 60)
    ]
    assert sum(total >= REVIEWED_FROM for total in totals) == 5
    assert totals[3] >= REVIEWED_FROM


def test_few_orders_cannot_be_delivered():
    undeliverable = sum("Nowhere" in purchase.customer.address for purchase in first(1, 2000))
    assert 20 <= undeliverable <= 90


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("orders", [1, 2, 20, 60, 5000])
def test_kills_come_while_orders_come(seed, orders):
    kills = script.kills(seed, orders, ROLES)
    assert [kill.role for kill in kills] == ["agents", "scheduler", "broker"]
    assert all(1 <= kill.after <= orders for kill in kills)
    assert sorted(kills, key=lambda kill: kill.after) == kills


def test_a_broker_that_is_not_ours_is_not_killed_and_moves_no_other_kill():
    with_broker = script.kills(7, 60, ROLES)
    assert script.kills(7, 60, ("agents", "scheduler")) == with_broker[:2]


@pytest.mark.parametrize(("orders", "pace"), [(1, 2.5), (20, 2.5), (60, 6.0), (100_000, 6.0)])
def test_the_pace(orders, pace):
    assert script.per_second(orders) == pace
