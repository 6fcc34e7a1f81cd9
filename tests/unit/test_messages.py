"""A reply as JSON on its row: what goes in comes out, and nothing else is accepted."""

import json
import re
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from workers.exceptions import MessageError, Permanent, Unavailable
from workers.protocol.messages import Reply, Request, storable
from workers.rules.new_processes import check
from workers.rules.rows import NewProcess

REQUEST = Request(7, UUID(int=7), 2, "one", "Toy 1", "key:1", {"amount": "9.50"}, process_id=3)


GOOD: dict[str, Any] = Reply.of(REQUEST, {}).to_wire()
BARE = {name: value for name, value in GOOD.items() if name != "result"}


@pytest.mark.parametrize(
    "reply",
    [
        Reply.of(REQUEST, {"id": "ch_1"}),
        Reply.of_fault(REQUEST, Unavailable("http_503", "busy", retry_after=3)),
        Reply.of_fault(REQUEST, Permanent("declined", "card declined")),
        Reply.of_deferral(REQUEST, {"seconds": 60}),
    ],
    ids=lambda reply: reply.kind,
)
def test_a_reply_survives_its_row(reply):
    # A filed reply's claim holds: nobody asks for its key.
    assert Reply.from_wire(json.loads(json.dumps(reply.to_wire()))) == replace(reply, key="")


def test_what_newer_code_says_more_is_left_unread():
    assert Reply.from_wire(GOOD | {"mood": "good"}) == replace(Reply.of(REQUEST, {}), key="")


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        BARE,
        {**GOOD, "attempt": None},
        {**GOOD, "claim_id": "no uuid"},
        {**GOOD, "fault": {"kind": "permanent"}},
        {**GOOD, "step_id": "seven"},
        {**GOOD, "result": ["no object"]},
        {**BARE, "fault": {"kind": "odd"}},
        {**BARE, "fault": {"kind": []}},
        {**BARE, "fault": {}},
        {**BARE, "deferral": {"seconds": 0}},
        {**GOOD, "claim_id": "\ud800" * 32},
        {**GOOD, "\ud800": 1},
    ],
    ids=repr,
)
def test_what_is_no_reply_is_refused(body):
    with pytest.raises(MessageError):
        Reply.from_wire(body)


def test_a_time_beyond_every_number_is_the_longest_there_is():
    reply = Reply.from_wire({**BARE, "deferral": {"seconds": 10**400}})

    assert reply.deferral == {"seconds": 10**400}


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"in": value}
    return value


@pytest.mark.parametrize(
    "result",
    [
        "text",
        {"x": float("nan")},
        {"x": object()},
        {"x": "a\x00b"},
        {"x\x00": 1},
        {"x": "\ud800"},
        {"x": "y" * 300_000},
        _nested(40),
        {"x": -(10**4299)},
    ],
    ids=[
        *("no dict", "NaN", "no JSON", "NUL", "NUL in a key", "surrogate", "too large", "too deep"),
        "a number that is not read back",
    ],
)
def test_a_result_that_no_database_could_store_is_refused(result):
    with pytest.raises(MessageError):
        storable(result)


def test_ordinary_results_are_storable():
    storable({"id": "ch_1", "n": 1.5, "list": [1, "zwölf", None], "emoji": "📦"})


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"lines": [{}, {"price": Decimal("9.50")}]}, "lines[1].price is a Decimal"),
        ({"a": {"b": float("nan")}}, "a.b is nan"),
        ({1: "a", "1": "b"}, "it has the key 1, which is no text"),
        ({"by_customer": [{None: 1}]}, "by_customer[0] has the key None, which is no text"),
        ({"a": {(1, 2): 1}}, "a has the key (1, 2), which is no text"),
    ],
)
def test_the_part_that_json_does_not_have_is_named(document, says):
    for use in (storable, lambda document: check(NewProcess("Toy", document))):
        with pytest.raises((MessageError, TypeError, ValueError), match=re.escape(says)):
            use(document)


def test_document_that_contains_itself_is_refused():
    document: dict[str, Any] = {"at": object()}
    document["in"] = document

    with pytest.raises(MessageError, match="must be JSON"):
        storable(document)
