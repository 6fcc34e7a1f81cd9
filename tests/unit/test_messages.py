"""The wire format: what goes in comes out, and nothing else is accepted."""

import json
from typing import Any
from uuid import UUID

import pytest

from workers.exceptions import MessageError, Permanent, Unavailable
from workers.protocol.messages import (
    Bundle,
    Reply,
    Request,
    replies_from_wire,
    replies_to_wire,
    storable,
)

REQUEST = Request(7, UUID(int=7), 2, "one", "Toy 1", "key:1", {"amount": "9.50"})


def test_a_bundle_survives_the_wire() -> None:
    bundle = Bundle("toy.alpha", 30, (REQUEST,))

    assert Bundle.from_wire(json.loads(json.dumps(bundle.to_wire()))) == bundle


def test_replies_survive_the_wire() -> None:
    replies = [
        Reply.of(REQUEST, {"id": "ch_1"}),
        Reply.of_fault(REQUEST, Unavailable("http_503", "busy", retry_after=3)),
        Reply.of_fault(REQUEST, Permanent("declined", "card declined")),
    ]

    assert replies_from_wire(json.loads(json.dumps(replies_to_wire(replies)))) == replies


def test_what_newer_code_says_more_is_left_unread() -> None:
    bundle = Bundle("toy.alpha", 30, (REQUEST,)).to_wire()
    [request] = bundle["requests"]
    more = bundle | {"colour": "red", "requests": [request | {"weight": 3}]}

    assert Bundle.from_wire(more) == Bundle("toy.alpha", 30, (REQUEST,))
    assert replies_from_wire({"version": 1, "replies": [GOOD | {"mood": "good"}]}) == [
        Reply.of(REQUEST, {})
    ]


GOOD: dict[str, Any] = Reply.of(REQUEST, {}).to_wire()
BARE = {name: value for name, value in GOOD.items() if name != "result"}


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"version": 2, "replies": []},
        {"version": 1},
        {"version": 1, "replies": [None]},
        {"version": 1, "replies": [{**GOOD, "claim_id": "no uuid"}]},
        {"version": 1, "replies": [{**GOOD, "fault": {"kind": "permanent"}}]},
        {"version": 1, "replies": None},
        {"version": 1, "replies": [{**GOOD, "step_id": "seven"}]},
        {"version": 1, "replies": [{**GOOD, "result": ["no object"]}]},
        {"version": 1, "replies": [BARE]},
        {"version": 1, "replies": [GOOD, {**BARE, "fault": {"kind": "odd"}}]},
        {"version": 1, "replies": [{**BARE, "fault": {"kind": []}}]},
        {"version": 1, "replies": [{**BARE, "fault": {}}]},
        {"version": 1, "replies": [{**BARE, "deferral": {"seconds": 0}}]},
        {"version": 1, "replies": [{**GOOD, "claim_id": "\ud800" * 32}]},
        {"version": 1, "replies": [GOOD, {**GOOD, "\ud800": 1}]},
    ],
    ids=repr,
)
def test_what_is_no_reply_is_refused(body: Any) -> None:
    with pytest.raises(MessageError):
        replies_from_wire(body)


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"version": 1},
        {"version": 1, "agent": "a", "timeout_seconds": 1, "requests": [{}]},
        {"version": 1, "agent": "a", "timeout_seconds": "long", "requests": []},
        {**Bundle("a", 1, (REQUEST,)).to_wire(), "requests": [{"step_id": 7}]},
        {**Bundle("a", 1, (REQUEST,)).to_wire(), "\ud800": 1},
    ],
    ids=repr,
)
def test_what_is_no_bundle_is_refused(body: Any) -> None:
    with pytest.raises(MessageError):
        Bundle.from_wire(body)


def test_one_reply_alone_is_read_as_strictly() -> None:
    assert Reply.from_wire(GOOD) == Reply.of(REQUEST, {})
    for odd in (None, BARE, {**GOOD, "\ud800": 1}, {**GOOD, "attempt": None}):
        with pytest.raises(MessageError):
            Reply.from_wire(odd)


def test_a_time_beyond_every_number_is_the_longest_there_is() -> None:
    [reply] = replies_from_wire(
        {"version": 1, "replies": [{**BARE, "deferral": {"seconds": 10**400}}]}
    )

    assert reply.deferral == {"seconds": 10**400}


def test_how_large_a_reply_is_does_not_travel() -> None:
    sent = Reply.of(REQUEST, {}, size=2)

    assert Reply.from_wire(sent.to_wire() | {"size": "large"}).size == 0


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
    ],
    ids=["no dict", "NaN", "no JSON", "NUL", "NUL in a key", "surrogate", "too large", "too deep"],
)
def test_a_result_that_no_database_could_store_is_refused(result: Any) -> None:
    with pytest.raises(MessageError):
        storable(result)


def test_ordinary_results_are_storable() -> None:
    storable({"id": "ch_1", "n": 1.5, "list": [1, "zwölf", None], "emoji": "📦"})
