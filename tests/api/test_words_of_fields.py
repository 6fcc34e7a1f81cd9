"""What is said of a field is said in our words, not in those of the library that checked it."""

import pytest
from pydantic import ValidationError

from orders.reasons import of_model
from orders.schemas import OrderIn

CUSTOMER = {"name": "Ada", "email": "ada@example.org", "address": "1 Mill Lane"}
LINE = {"sku": "SKU-001", "quantity": 1}
ORDER = {"customer": CUSTOMER, "lines": [LINE]}


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        ([], "body", "must be an object"),
        ({"lines": [LINE]}, "customer", "is required"),
        (ORDER | {"colour": "red"}, "colour", "is not a known field"),
        (ORDER | {"lines": "x"}, "lines", "must be a list"),
        (ORDER | {"lines": []}, "lines", "must have a length of at least 1, got 0"),
        (ORDER | {"lines": [LINE] * 101}, "lines", "must have a length of at most 100, got 101"),
        (
            ORDER | {"lines": [LINE | {"quantity": 0}]},
            "lines.0.quantity",
            "must be greater than or equal to 1",
        ),
        (
            ORDER | {"lines": [LINE | {"quantity": 1_000_001}]},
            "lines.0.quantity",
            "must be less than or equal to 1000000",
        ),
        (ORDER | {"lines": [LINE | {"quantity": 1.5}]}, "lines.0.quantity", "must be an integer"),
        (ORDER | {"lines": [LINE | {"sku": 5}]}, "lines.0.sku", "must be a string"),
        (
            ORDER | {"lines": [LINE | {"sku": ""}]},
            "lines.0.sku",
            "must have a length of at least 1",
        ),
        (ORDER | {"reference": "x" * 101}, "reference", "must have a length of at most 100"),
    ],
)
def test_a_field_is_refused_in_plain_words(body, field, problem):
    with pytest.raises(ValidationError) as refused:
        OrderIn.model_validate(body)
    (said,) = of_model(refused.value.errors())
    assert (said.field, said.problem) == (field, problem)
