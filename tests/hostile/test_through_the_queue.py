"""The corpus at the submission queue: a dead letter with the field and the reason, or an order."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from orders.consumer.handling import handle
from orders.consumer.message import Message
from orders.models import DeadLetter, Order
from orders.plain_text import composed
from tests.hostile import corpus, envelopes

Send = Callable[..., list[dict[str, str]]]


@pytest.fixture
def send(acme, rows, quiet) -> Send:
    """Hand a message to the consumer; return the reasons of the dead letter it became.

    Nothing but that letter was stored, and that its sender has open ones; neither it nor the log
    has the token.
    """

    def sent(body: Any, *, token: str | None = None, **properties: Any) -> list[dict[str, str]]:
        before = rows()
        raw = body if isinstance(body, bytes) else corpus.text(body)
        headers = {"client": "acme", "token": acme.token if token is None else token}
        message = Message(raw, {"message_id": "key-1", **properties}, headers)
        letter = handle(message).letter
        assert rows() == before | {"DeadLetter": before["DeadLetter"] + 1, "Alert": 1}
        assert letter is not None
        letter.refresh_from_db()
        assert bytes(letter.body) == raw[:1_048_576]
        quiet(json.dumps([letter.properties, letter.reasons]), secrets=(acme.token,))
        found: list[dict[str, str]] = letter.reasons
        return found

    return sent


@pytest.mark.fault("F29")
@pytest.mark.parametrize("name", corpus.UNREADABLE)
def test_a_body_that_is_no_json_of_ours(send, name):
    body, word = corpus.UNREADABLE[name]
    (only,) = send(body)
    assert only["field"] == "body"
    assert word in only["problem"]


@pytest.mark.fault("F30")
@pytest.mark.parametrize("name", corpus.OVERSIZED)
def test_a_body_that_is_too_large(send, name):
    first = send(corpus.OVERSIZED[name])[0]
    assert first["field"] == "body"
    assert "65536 bytes at most" in first["problem"]


@pytest.mark.fault("F29")
@pytest.mark.parametrize("name", corpus.WRONG)
def test_an_order_with_one_thing_wrong(send, name):
    body, field, word = corpus.WRONG[name]
    first = send(body)[0]
    assert first["field"] == field
    assert word in first["problem"]


@pytest.mark.fault("F31")
@pytest.mark.parametrize("name", corpus.NAMES)
def test_a_text_that_looks_dangerous_is_a_text(acme, quiet, name):
    text = corpus.LEGAL[name]
    body = corpus.customer(name=text, address=text) | {"reference": text[:100]}
    headers = {"client": "acme", "token": acme.token}
    assert handle(Message(corpus.text(body), {"message_id": "key-1"}, headers)).order is not None

    order = Order.objects.get()
    stored = (order.customer_name, order.customer_address, order.reference)
    assert stored == (composed(text), composed(text), text[:100])
    assert not DeadLetter.objects.exists()
    quiet(secrets=(acme.token,))


@pytest.mark.fault("F29")
@pytest.mark.parametrize("name", envelopes.KEYS)
def test_a_key_that_is_none(send, name):
    assert [one["field"] for one in send(corpus.ORDER, message_id=envelopes.KEYS[name])] == [
        "message_id"
    ]


@pytest.mark.fault("F29")
@pytest.mark.parametrize("key", [7, 1.5, True, b"key", ["key"], {"key": 1}, "a\ud800b", "a\x00b"])
def test_a_key_that_is_no_text(send, key):
    assert [one["field"] for one in send(corpus.ORDER, message_id=key)] == ["message_id"]


@pytest.mark.fault("F41")
@pytest.mark.parametrize("name", envelopes.AUTHORIZATIONS)
def test_a_token_that_is_none(send, name):
    token = envelopes.AUTHORIZATIONS[name].removeprefix("Bearer ")
    assert [one["field"] for one in send(corpus.ORDER, token=token)] == ["headers.token"]


@pytest.mark.fault("F41")
def test_a_good_token_with_half_a_character_after_it(acme, send):
    assert send(corpus.ORDER, token=acme.token + "\ud800") == [
        {
            "field": "headers.token",
            "problem": "is unknown, expired or revoked; send one that is good",
        }
    ]


@pytest.mark.fault("F32")
@pytest.mark.parametrize("name", envelopes.REPLY_TOS)
def test_foreign_or_malformed_reply_to_is_refused(send, name):
    for_it = envelopes.REPLY_TOS[name]
    assert [one["field"] for one in send(corpus.ORDER, reply_to=for_it)] == ["reply_to"]
    assert [one["field"] for one in send(corpus.order(reply_to=for_it))] == ["reply_to"]


@pytest.mark.parametrize("url", envelopes.CALLBACK_URLS)
@pytest.mark.usefixtures("resolver")
def test_an_address_not_to_be_called(send, url):
    (only,) = send(corpus.order(callback_url=url))
    assert only["field"] == "callback_url"
    assert envelopes.CALLBACK_URLS[url] in only["problem"]


@pytest.mark.fault("F29")
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "bzip2", "base64", "utf-16", "rot13", 7])
def test_a_body_that_would_have_to_be_unpacked(send, encoding):
    (only,) = send(corpus.ORDER, content_encoding=encoding)
    assert only["field"] == "content_encoding"


@pytest.mark.fault("F29")
@pytest.mark.parametrize("given", ["a\nb", "\u00fc", "x" * 201, "a\x00", "\ud800", 7, b"x"])
def test_a_correlation_id_that_cannot_be_repeated(send: Send, given: Any) -> None:
    (only,) = send(corpus.ORDER, correlation_id=given)
    assert only["field"] == "correlation_id"


@pytest.mark.fault("F41")
@pytest.mark.parametrize(
    "client", ["other", "acme\x00", "", " acme", "\ud800", "x" * 10_000, 7, None, ["acme"], {}]
)
def test_a_name_that_is_not_the_tokens(acme, client):
    headers = {"client": client, "token": acme.token}
    letter = handle(Message(corpus.text(corpus.ORDER), {"message_id": "k"}, headers)).letter
    assert letter is not None
    assert {one["field"] for one in letter.reasons} == {"headers.client"}
    assert not Order.objects.exists()
