"""What an operator changes of a message that is no order, and what groups such messages."""

import pytest

from orders.letter_corrections import (
    MISSING,
    Change,
    diff,
    diff_of_message,
    lines_as_text,
    lines_of_text,
    put,
    unknown,
)
from orders.letter_groups import cause_of

LINE = {"sku": "SKU-001", "quantity": 2}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [Change("a", 1, 2)]),
        ({"a": 1}, {"a": 1.0}, [Change("a", 1, 1.0)]),
        ({"a": 1}, {"a": True}, [Change("a", 1, True)]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1]}}, [Change("a.b.1", 2, MISSING)]),
        ({}, {"a": None}, [Change("", {}, MISSING), Change("a", MISSING, None)]),
        ([1], {"a": 1}, [Change("0", 1, MISSING), Change("a", MISSING, 1)]),
    ],
)
def test_every_value_that_is_different_is_told(before, after, changes):
    assert diff(before, after) == changes


def test_what_could_not_be_read_is_different_as_a_whole():
    assert diff_of_message(MISSING, {"a": 1}, "k", "k") == [Change("", MISSING, {"a": 1})]
    assert diff_of_message(MISSING, MISSING, "", "k") == [Change("message_id", MISSING, "k")]
    assert diff_of_message(MISSING, MISSING, "k", "k") == []


def test_values_are_put_at_their_paths_and_the_document_stays_as_it_was():
    before = {"customer": "Ada", "lines": [LINE], "x": 1}
    after = put(before, {"customer.name": "Ada", "x": MISSING, "y": MISSING})
    assert after == {"customer": {"name": "Ada"}, "lines": [LINE]}
    assert before == {"customer": "Ada", "lines": [LINE], "x": 1}


def test_what_no_order_has_is_named():
    assert unknown({"customer": {"name": "Ada", "vip": 1}, "lines": [], "x": 1}) == [
        "x",
        "customer.vip",
    ]
    assert unknown({"customer": 3}) == []
    assert unknown([]) == []


@pytest.mark.parametrize(
    ("lines", "text"),
    [([LINE, {"sku": "B", "quantity": 1}], "SKU-001 2\nB 1"), ([], ""), (MISSING, "")],
)
def test_lines_are_edited_as_text(lines, text):
    assert lines_as_text(lines) == text
    assert lines_of_text(text) == ([] if lines is MISSING else lines)


@pytest.mark.parametrize(
    "lines",
    [
        [{"sku": "A", "quantity": "2"}],
        [{"sku": "A", "quantity": True}],
        [{"sku": "A B", "quantity": 1}],
        [{"sku": "A"}],
        [{**LINE, "gift": True}],
        {"sku": "A"},
        "A 1",
        7,
    ],
)
def test_what_a_text_cannot_say_is_edited_as_json(lines):
    text = lines_as_text(lines)
    if text != "7":
        assert lines_of_text(text) == lines


@pytest.mark.parametrize("text", ["SKU-001", "SKU-001 two", "SKU-001 -1", "SKU-001 ²", "[1"])
def test_lines_that_say_nothing_are_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        lines_of_text(text)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Only 3 of Lamp are left", "Only 41 of Lamp are left"),
        ("We do not sell SKU-001.", "We do not sell SKU-002."),
        (
            "there is no client 'till'; ask who sent it",
            "there is no client 'shop'; ask who sent it",
        ),
    ],
)
def test_what_is_one_message_s_own_makes_no_group(first, second):
    def of(field: str, problem: str) -> str:
        return cause_of([{"field": field, "problem": problem}])

    assert of("lines.0.sku", first) == of("lines.7.sku", second)
    assert of("lines.0.sku", first) != of("customer.name", first)


def test_a_cause_says_each_thing_once_and_is_kept_short():
    twice = [{"field": f"lines.{n}", "problem": "is no object"} for n in range(3)]
    assert cause_of(twice) == "lines.# is no object"
    assert cause_of([]) == ""
    assert len(cause_of([{"field": "x" * 300, "problem": "is bad"}])) <= 200
