"""Which attributes can be declared and given, and the text by which a value is found."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum

import pytest

from workers.definitions import attributes
from workers.definitions.workflow import Workflow, step
from workers.exceptions import WorkflowError
from workers.rules.attributes import check, personal, texts
from workers.rules.rows import NewProcess

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Plan(str, Enum):  # noqa: UP042 (prints as its name)
    PRO = "pro"


def workflow(**declared):
    return Workflow("bills", 1, (step("one", "toy.alpha"),), attributes=declared)


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (["customer"], "attributes must be a dict of names and types, got ['customer']."),
        ({"first name": str}, "must be letters, digits and underscores, 50 at most"),
        ({"n" * 51: str}, "must be letters, digits and underscores, 50 at most"),
        ({7: str}, "must be letters, digits and underscores, 50 at most, got 7. Rename it."),
        ({"state": str}, "must not be called workflow or state or after or limit, got 'state'"),
        ({"customer": float}, "attribute customer must be one of int, str, bool, Decimal, date"),
        ({"customer": "int"}, "attribute customer must be one of int, str, bool, Decimal, date"),
        ({f"a{n}": int for n in range(21)}, "attributes must be 20 at most, got 21."),
    ],
)
def test_bad_declaration_is_refused_by_name(declared, says):
    with pytest.raises(WorkflowError, match=re.escape(says)):
        Workflow("bills", 1, (step("one", "toy.alpha"),), attributes=declared)


def test_declaration_is_kept_apart_from_the_dict_that_made_it():
    given = {"customer": int}
    bills = workflow(**given)
    given["plan"] = str
    assert bills.attributes == {"customer": int}
    assert hash(bills) == hash(workflow(customer=int))


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (int, 7, "7"),
        (int, -(2**63), "-9223372036854775808"),
        (str, "pro", "pro"),
        (str, Plan.PRO, "pro"),
        (bool, True, "true"),
        (bool, False, "false"),
        (Decimal, Decimal("1.50"), "1.5"),
        (Decimal, Decimal("100"), "100"),
        (Decimal, Decimal("1e2"), "100"),
        (Decimal, Decimal(f"1.{'7' * 40}"), f"1.{'7' * 40}"),
        (Decimal, Decimal("-0.0"), "0"),
        (date, date(2026, 3, 1), "2026-03-01"),
        (datetime, NOON, "2026-03-01T12:00:00+00:00"),
        (datetime, NOON.astimezone(timezone(timedelta(hours=2))), "2026-03-01T12:00:00+00:00"),
    ],
)
def test_equal_values_have_one_text_and_are_read_from_it(kind, value, text):
    assert attributes.text("key", kind, value) == text
    assert attributes.value(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "value", "error", "says"),
    [
        (int, "7", TypeError, "attribute key must be int, got '7'."),
        (int, True, TypeError, "attribute key must be int, got True."),
        (int, None, TypeError, "attribute key must be int, got None. Leave it out."),
        (int, 2**64, ValueError, "attribute key must be a whole number of 64 bits at most."),
        (date, NOON, TypeError, "attribute key must be date, got datetime.datetime"),
        (datetime, NOON.replace(tzinfo=None), ValueError, "attribute key must have a time zone"),
        (datetime, NOON.date(), TypeError, "attribute key must be datetime, got datetime.date"),
        (Decimal, 1, TypeError, "attribute key must be Decimal, got 1."),
        (Decimal, Decimal("NaN"), ValueError, "attribute key must be a finite Decimal, got NaN."),
        (Decimal, Decimal("1e999999"), ValueError, "attribute key must have 200 digits at most"),
        (str, " ", ValueError, "attribute key must not be blank, got ' '. Leave it out."),
        (str, "a" * 201, ValueError, "attribute key must have 200 characters at most, got 201."),
        (str, "a\x00", ValueError, "attribute key must be text without NUL"),
    ],
)
def test_bad_value_is_refused_by_name(kind, value, error, says):
    with pytest.raises(error, match=re.escape(says)):
        attributes.text("key", kind, value)


def test_unknown_attribute_is_refused_with_the_known_ones():
    says = "by workflow bills version 1, got 'custmer'; it declares customer, plan. Declare it"
    with pytest.raises(ValueError, match=re.escape(says)):
        check(workflow(customer=int, plan=str), [NewProcess("B", {}, attributes={"custmer": 7})])
    with pytest.raises(ValueError, match="got 'plan'; it declares none"):
        check(workflow(), [NewProcess("B", {}, attributes={"plan": "pro"})])
    with pytest.raises(TypeError, match="attributes must be a dict"):
        check(workflow(plan=str), [NewProcess("B", {}, attributes=["plan"])])


def test_declared_attribute_may_be_missing():
    bills = workflow(customer=int, plan=str)
    process = NewProcess("B", {}, attributes={"plan": "pro"})
    assert texts(bills, process) == {"plan": "pro"}
    assert texts(bills, NewProcess("B", {})) == {}


@pytest.mark.parametrize(
    ("kind", "words", "text"),
    [
        (int, " 7 ", "7"),
        (int, "007", "7"),
        (str, "pro", "pro"),
        (bool, "true", "true"),
        (Decimal, "1.50", "1.5"),
        (date, "2026-03-01", "2026-03-01"),
        (datetime, "2026-03-01T14:00:00+02:00", "2026-03-01T12:00:00+00:00"),
    ],
)
def test_what_people_type_finds_what_was_given(kind, words, text):
    assert attributes.typed({"key": kind}, "key", words) == text


@pytest.mark.parametrize(
    ("kind", "words"), [(int, "x"), (int, ""), (bool, "yes"), (Decimal, "1,5"), (datetime, "today")]
)
def test_what_cannot_be_a_value_is_refused_by_name(kind, words):
    with pytest.raises(ValueError, match=f"attribute key must be {kind.__name__}, got '{words}'"):
        attributes.typed({"key": kind}, "key", words)


def test_personal_attributes_are_named_by_their_path():
    def names(*paths):
        steps = (step("one", "toy.alpha"),)
        bills = Workflow("bills", 1, steps, attributes={"email": str, "plan": str}, personal=paths)
        return personal([bills])

    assert names("attributes.email") == names("email") == {"email"}
    assert names("attributes") == {"email", "plan"}
    assert names("customer.email") == names() == set()
