"""A process that no database holds is refused with what is wrong, the limit and the remedy."""

import functools
import re
from datetime import datetime
from typing import Any

import pytest

from tests.unit.build import NOW
from workers.exceptions import BadText
from workers.models import Process, Sink
from workers.rules import new_processes
from workers.rules.new_processes import check
from workers.rules.rows import NewProcess, NewSink


def wanted(**changes: Any) -> NewProcess:
    return NewProcess(**({"subject": "Toy 1", "input": {}} | changes))


def told(**changes: Any) -> NewProcess:
    return wanted(told=[NewSink(**({"kind": "queue", "address": "replies"} | changes))])


BAD_TEXT = [
    (wanted(subject="s" * 201), "subject must have 200 characters at most, got 201. Shorten it."),
    (
        wanted(subject="a\x00b"),
        "subject must be text without NUL and lone surrogates, got 'a\\x00b'. Remove them.",
    ),
    (wanted(subject=""), "subject must not be blank, got ''. Say what the process is about."),
    (wanted(subject=" \n"), "subject must not be blank, got ' \\n'."),
    (wanted(subject="\ud800"), "subject must be text without NUL"),
    (wanted(subject=7), "subject must be text, got 7."),
    (wanted(lane="a\x00"), "lane must be text without NUL"),
    (wanted(lane="\udfff"), "lane must be text without NUL"),
    (wanted(input={"a": [{"b": "\x00"}]}), "input must be text without NUL"),
    (wanted(input={"a": {"\ud83d": 1}}), "input must be text without NUL"),
    (told(address="a" * 501), "The address of a sink must have 500 characters at most, got 501."),
    (told(address="\x00"), "The address of a sink must be text without NUL"),
    (told(owner="o" * 101), "The owner of a sink must have 100 characters at most, got 101."),
    (told(owner="\ud800"), "The owner of a sink must be text without NUL"),
    (
        told(correlation_id="c" * 201),
        "The correlation_id of a sink must have 200 characters at most, got 201.",
    ),
    (told(correlation_id="\x00"), "The correlation_id of a sink must be text without NUL"),
]


@pytest.mark.parametrize(("process", "says"), BAD_TEXT)
def test_a_text_that_cannot_be_stored_is_refused(process, says):
    with pytest.raises(BadText) as refusal:
        check(process)

    assert str(refusal.value).startswith(says)


BAD_VALUES = [
    (wanted(priority=-1), "priority must be 0 to 100, got -1. Give the others less."),
    (wanted(priority=101), "priority must be 0 to 100, got 101."),
    (
        wanted(deadline_at=datetime(2026, 3, 1)),
        "deadline_at must be an instant with a time zone, got datetime.datetime(2026, 3, 1, 0, 0).",
    ),
    (told(kind="mail"), "The kind of a sink must be queue or webhook, got 'mail'."),
    (
        wanted(told=[NewSink("queue", "a"), NewSink("queue", "a", owner="b")]),
        "sinks must name each address once, got 'a' more often.",
    ),
]


@pytest.mark.parametrize(("process", "says"), BAD_VALUES)
def test_a_value_out_of_bounds_is_refused(process, says):
    with pytest.raises(ValueError, match="^" + re.escape(says)):
        check(process)


def nested(depth: int) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for _ in range(depth):
        document = {"in": document}
    return document


@pytest.mark.parametrize("document", [[1], None, "{}", 7])
def test_an_input_that_is_no_object_is_refused(document):
    with pytest.raises(TypeError, match=r"input must be a dict, got \w+\. Put it into one\."):
        check(wanted(input=document))


@pytest.mark.parametrize(
    ("process", "says"),
    [
        (wanted(deadline_at=60), "deadline_at must be a datetime with a time zone, got 60."),
        (wanted(told="http://x"), "sinks must be a sequence of NewSink, got 'h' in it."),
    ],
)
def test_a_value_of_another_type_is_refused(process, says):
    with pytest.raises(TypeError, match=re.escape(says)):
        check(process)


@pytest.mark.parametrize("priority", ["high", None, 1.5])
def test_a_priority_that_is_no_whole_number_is_refused(priority):
    with pytest.raises(TypeError, match="priority must be a whole number, got"):
        check(wanted(priority=priority))


def test_an_input_that_is_no_json_is_refused():
    says = r"^input must be JSON, got a value that JSON does not have: .*\. Pass text or None\.$"
    with pytest.raises(TypeError, match=says):
        check(wanted(input={"at": NOW}))
    with pytest.raises(ValueError, match=says):
        check(wanted(input={"n": float("nan")}))
    with pytest.raises(ValueError, match="input is nested too deep to be JSON"):
        check(wanted(input=nested(100_000)))


@pytest.mark.parametrize(
    "process",
    [
        wanted(subject="s" * 200, lane="l" * 300, priority=100, deadline_at=NOW),
        wanted(subject="s", input={"emoji": "\U0001f600", "written": "\\u0000", "list": [1, None]}),
        told(address="a" * 500, owner="o" * 100, correlation_id="c" * 200),
        wanted(told=[NewSink("queue", "a"), NewSink("webhook", "a"), NewSink("queue", "b")]),
    ],
)
def test_whatever_the_columns_hold_is_accepted(process):
    check(process)


def test_the_limits_are_those_of_the_columns():
    columns = {name: Sink._meta.get_field(name).max_length for name in ("address", "owner")}

    assert Process._meta.get_field("subject").max_length == new_processes.LONGEST_SUBJECT
    assert columns == {
        "address": new_processes.LONGEST_ADDRESS,
        "owner": new_processes.LONGEST_OWNER,
    }
    correlation_id = Sink._meta.get_field("correlation_id")
    assert correlation_id.max_length == new_processes.LONGEST_CORRELATION


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"a": "x" * 262_144}, "input must have 262144 bytes at most, got 262153. Keep it"),
        ({"a": {"__type__": "datetime"}}, "input must have no key __type__"),
        (
            {"a": functools.reduce(lambda inner, _: [inner], range(33), 1)},
            "input must be nested 32",
        ),
    ],
    ids=["large", "type", "deep"],
)
def test_an_input_that_no_message_would_carry_is_refused(document, says):
    """Accepted, it would fail its first step for good."""
    with pytest.raises(ValueError, match=says):
        check(wanted(input=document))


def test_an_input_of_the_same_size_as_a_result_is_accepted():
    check(wanted(input={"a": "x" * (262_144 - 9)}))
