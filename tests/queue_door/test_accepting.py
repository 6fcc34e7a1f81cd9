"""Good messages: one order each, whichever door its twin came through."""

import json
import logging
from typing import Any

import pytest
from django.db import InternalError, OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.consumer import accepting, handling
from orders.consumer.handling import handle
from orders.consumer.message import Message
from orders.models import DeadLetter, Order
from tests.queue_door.conftest import new_client
from tests.queue_door.sending import BODY

pytestmark = pytest.mark.django_db


def by_http(token: str, key: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    return Client().post(
        "/api/v1/orders", json.dumps(body or BODY), content_type="application/json", headers=headers
    )


def test_a_message_becomes_an_order(make, nudges, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        handled = handle(make())
    order = Order.objects.get()
    assert handled.order == order
    assert handled.letter is None
    assert (order.source, order.submitter, order.submission_key) == (
        "queue",
        "client:acme",
        "key-1",
    )
    assert (order.customer_name, order.reference, str(order.total)) == (
        "Ada Lovelace", "cart-1", "19.00",
    )  # fmt: skip
    assert order.process.state == "pending"
    assert set(nudges) == {"later"}


def test_the_same_again_is_the_same_order(make):
    first = handle(make())
    # In another order and with other spaces: the same content.
    body = json.dumps(dict(reversed(BODY.items())), indent=3).encode()
    assert handle(make(body=body)).order == first.order
    assert Order.objects.count() == 1
    assert not DeadLetter.objects.exists()


def test_nothing_is_read_that_the_consumer_s_login_may_not_read(make, settings):
    """As limit-what-processes-may-do grants it; SQLite and an owner would let it all through."""
    settings.SUBMISSIONS_TRUST_USER_ID = True
    login = make(headers={"token": None}, user_id="acme", is_user_proven=True)
    with CaptureQueriesContext(connection) as said:
        for message in (make(), login, make(body=b"{")):
            handle(message)

    assert [one["sql"] for one in said if 'webhook_secret"' in one["sql"]] == []
    orders = [one["sql"] for one in said if 'FROM "orders_order"' in one["sql"]]
    assert len(orders) == 2
    assert [sql for sql in orders if "customer_" in sql or '"secret"' in sql] == []


def test_the_key_with_another_body_is_a_dead_letter_that_names_the_order(make):
    first = handle(make()).order
    assert first is not None
    letter = handle(make(body=BODY | {"reference": "cart-2"})).letter
    assert letter is not None
    assert letter.reasons[0]["field"] == "message_id"
    assert f"order {first.number}," in letter.reasons[0]["problem"]
    assert Order.objects.count() == 1


def test_http_and_queue_submissions_of_one_key_make_one_order(make, token):
    made = by_http(token, "key-1").json()
    handled = handle(make())
    assert handled.order is not None
    assert handled.order.number == made["number"]
    handle(make("key-2"))
    again = by_http(token, "key-2")
    assert again.status_code == 200
    assert by_http(token, "key-2", BODY | {"reference": "x"}).status_code == 422
    assert Order.objects.count() == 2


def test_who_wants_to_be_told_is_noted_with_the_order(make):
    order = handle(make(reply_to="replies.acme.in", correlation_id="c-1")).order
    assert order is not None
    told = order.process.sinks.values_list("kind", "address", "owner", "correlation_id")
    assert list(told) == [("queue", "replies.acme.in", "client:acme", "c-1")]
    # The body has it, too, as at the other door; the property comes first.
    body = BODY | {"reply_to": "replies.acme.body", "callback_url": "https://example.org/told"}
    second = handle(make("k2", body=body)).order
    third = handle(make("k3", body=body, reply_to="replies.acme.property")).order
    assert second is not None
    assert third is not None
    addresses = second.process.sinks.order_by("kind").values_list("address", flat=True)
    assert list(addresses) == ["replies.acme.body", "https://example.org/told"]
    assert third.process.sinks.filter(address="replies.acme.property").exists()
    assert handle(make("k4", body=BODY | {"reply_to": "sas.reports"})).letter


def test_keys_are_a_clients_own(make):
    from orders import tokens

    handle(make())
    other = tokens.issue(new_client("other"))
    assert handle(make(headers={"token": other, "client": "other"})).order
    assert Order.objects.count() == 2


def test_message_that_raises_unexpected_error_becomes_dead_letter(make, monkeypatch, caplog):
    def explode(*_: Any) -> Any:
        raise MemoryError("secret")

    monkeypatch.setattr(accepting, "accept", explode)
    with caplog.at_level(logging.ERROR):
        letter = handle(make()).letter
    assert letter is not None
    assert letter.reasons == [{"field": "message", "problem": "could not be handled: MemoryError"}]
    assert "submission_failed" in caplog.messages
    monkeypatch.undo()
    assert handle(make()).order


def test_a_database_that_is_away_is_nobodys_fault(make, monkeypatch):
    def explode(*_: Any) -> Any:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(accepting, "accept", explode)
    with pytest.raises(OperationalError):
        handle(make())
    assert not DeadLetter.objects.exists()


def test_the_database_is_there_when_it_takes_a_dead_letter(acme, monkeypatch):
    assert handling.is_database_there()
    assert not DeadLetter.objects.exists()

    def explode(*_: Any, **__: Any) -> Any:
        raise InternalError("cannot execute INSERT in a read-only transaction")

    monkeypatch.setattr(DeadLetter, "save", explode)
    assert not handling.is_database_there()


def test_a_letter_that_comes_again_is_kept_once(make):
    first = handle(make(body=b"{")).letter
    again = handle(make(body=b"{", is_redelivered=True)).letter
    assert first == again
    # Sent twice by the client is twice.
    assert handle(make(body=b"{")).letter != first
    assert handle(make(body=b"[", is_redelivered=True)).letter != first
    assert DeadLetter.objects.count() == 3


def test_who_is_proven_stands_on_the_letter(make):
    new_client("other")
    letter = handle(make(headers={"client": "other"})).letter
    assert letter is not None
    assert (letter.client, letter.properties["sender"]) == ("acme", "proven")
    letter = handle(make(headers={"client": "other", "token": "x"})).letter
    assert letter is not None
    assert (letter.client, letter.properties["sender"]) == ("other", "claimed")


def test_what_no_database_stores_is_kept_as_it_can_be(make):
    odd: dict[str, Any] = {
        "nul": "a\x00b",
        "half": "\ud800",
        "bytes": b"\xff",
        "nan": float("nan"),
        "many digits": 10**5000,
        "deep": [[[[[[[[[["x"]]]]]]]]]],
        "wide": list(range(1000)),
        "long": "x" * 100_000,
        "set": {1},
    }
    letter = handle(make(body=b"{", headers=odd, timestamp=2**64 - 1, app_id="\x00")).letter
    assert letter is not None
    letter.refresh_from_db()
    kept = letter.properties["headers"]
    assert kept["nul"] == "a\ufffdb"
    assert kept["bytes"] == "base64:/w=="
    assert len(kept["wide"]) == 100
    assert len(json.dumps(letter.properties)) < 10_000


def test_the_clients_name_is_cut_to_its_column(make):
    letter = handle(make(headers={"client": "c" * 500, "token": "x"})).letter
    assert letter is not None
    letter.refresh_from_db()
    assert len(letter.client) == 100


def test_a_message_is_given_up_without_another_look(acme):
    from orders.reasons import because

    handled = handling.give_up(Message(b"x"), [because("message", "no")])
    assert handled.letter is not None
    assert handled.letter.reasons == [{"field": "message", "problem": "no"}]
