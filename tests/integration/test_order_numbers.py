"""Order numbers move up and never back."""

import pytest
from django.core.management import CommandError
from django.db import transaction

from orders.models import Order, Product
from orders.numbers import skip_to
from tests.factories import placed
from tests.programs import said


@pytest.fixture(autouse=True)
def product() -> None:
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)


def place(key: str) -> Order:
    return placed(key=key)


def skip(number: int) -> str:
    return said("order_numbers", "--next", str(number))


def test_the_next_order_takes_the_number():
    number = place("a").number + 1000
    assert skip(number) == f"The next order is {number} or later.\n"
    assert place("b").number == number
    assert place("c").number == number + 1


def test_a_number_that_was_given_out_is_not_given_out_again():
    first = place("a").number
    for number in (first, first + 1):
        with pytest.raises(CommandError, match="given out already"):
            skip(number)
    assert place("b").number == first + 1


def test_what_is_rolled_back_moves_no_number():
    first = place("a").number
    with transaction.atomic():
        skip_to(first + 1000)
        transaction.set_rollback(True)
    assert place("b").number == first + 1


@pytest.mark.parametrize("number", [0, -5])
def test_numbers_begin_at_one(number):
    with pytest.raises(CommandError, match="begin at 1"):
        skip(number)
