"""Every message that is no order: a dead letter that names the field, and nothing else stored."""

import json
from typing import Any

import pytest

from orders import tokens
from orders.consumer.handling import handle
from orders.models import ApiClient, ApiToken, DeadLetter, Order
from tests.queue_door.conftest import Make, new_client
from tests.queue_door.poison import BODIES
from tests.queue_door.sending import BODY
from workers.models import Process

pytestmark = pytest.mark.django_db


def reasons(letter: DeadLetter | None) -> dict[str, str]:
    assert letter is not None
    letter.refresh_from_db()
    assert not Order.objects.exists()
    assert not Process.objects.exists()
    return {one["field"]: one["problem"] for one in letter.reasons}


@pytest.mark.fault("F29")
@pytest.mark.parametrize("name", BODIES)
def test_a_bad_body(make, name):
    body, field, word = BODIES[name]
    letter = handle(make(body=body)).letter

    said = reasons(letter)
    assert list(said) == [field]
    assert word in said[field]
    assert letter is not None
    assert bytes(letter.body) == body
    assert (letter.client, letter.message_id, letter.state) == ("acme", "key-1", "open")


def test_what_is_sold_out(make):
    many = BODY | {"lines": [{"sku": "SKU-001", "quantity": 10_001}]}
    said = reasons(handle(make(body=many)).letter)
    assert said == {"lines.0.quantity": "Only 10000 of Lamp are left. Lower the quantity."}


@pytest.mark.fault("F30")
def test_of_a_huge_body_the_beginning_is_kept(make):
    letter = handle(make(body=b"x" * 20_000_000)).letter
    assert letter is not None
    assert len(letter.body) == 1_048_576
    told = [one["problem"] for one in letter.reasons]
    assert told[0] == "cannot be read: it must have 65536 bytes at most, got 20000000"
    assert told[1] == "has 20000000 bytes; only the first 1048576 are kept here"


@pytest.mark.parametrize(
    ("key", "word"),
    [
        (None, "missing"),
        ("", "missing"),
        (7, "printable"),
        ("a b", "printable"),
        ("ä", "printable"),
        ("a\x00", "printable"),
        ("k" * 201, "200"),
        ("sas_0123abcd_" + "x" * 43, "token"),
    ],
)
def test_a_bad_key(make, key, word):
    letter = handle(make(key)).letter
    assert word in reasons(letter)["message_id"]
    assert letter is not None
    assert "xxx" not in letter.message_id


@pytest.mark.parametrize("encoding", ["gzip", "base64", "binary", "utf-16", 7])
def test_a_foreign_encoding(make, encoding):
    assert "utf-8" in reasons(handle(make(content_encoding=encoding)).letter)["content_encoding"]


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "", None])
def test_the_encodings_that_change_nothing(make, encoding):
    assert handle(make(content_encoding=encoding)).order


@pytest.mark.parametrize("kind", ["application/x-python-serialize", "text/plain", "x" * 200])
def test_the_content_type_means_nothing(make, kind):
    assert handle(make(content_type=kind)).order


@pytest.mark.parametrize(
    "name",
    ["orders.submissions", "sas.reports", "replies.other.x", "replies.acme.", "replies.acme",
     "replies.acme.a b", "amq.rabbitmq.reply-to", "replies.acme." + "x" * 300, 7],
)  # fmt: skip
def test_a_foreign_reply_queue(make, name):
    said = reasons(handle(make(reply_to=name)).letter)
    assert said == {"reply_to": "must lie under replies.acme., as your own queues"}


@pytest.mark.parametrize("given", ["x" * 201, "a\nb", "a\x00", 7])
def test_a_bad_correlation_id(make: Make, given: Any) -> None:
    assert "200" in reasons(handle(make(correlation_id=given)).letter)["correlation_id"]


@pytest.mark.parametrize(
    ("headers", "field", "word"),
    [
        ({"token": None}, "headers.token", "missing"),
        ({"token": ""}, "headers.token", "unknown"),
        ({"token": "sas_0123abcd_wrong"}, "headers.token", "unknown"),
        ({"token": b"sas_"}, "headers.token", "unknown"),
        ({"token": "sas_\x00_\ud800"}, "headers.token", "unknown"),
        ({"client": None}, "headers.client", "missing"),
        ({"client": "other"}, "headers.client", "the token's"),
        ({"client": 7}, "headers.client", "the token's"),
    ],
)
def test_message_with_missing_or_wrong_token_or_client_is_refused(make, headers, field, word):
    new_client("other")
    said = reasons(handle(make(headers=headers)).letter)
    assert list(said) == [field]
    assert word in said[field]


def test_a_token_that_may_not_submit(make, acme):
    reading = tokens.issue(acme, scopes=[tokens.READ])
    said = reasons(handle(make(headers={"token": reading})).letter)
    assert said == {"headers.token": "has no scope 'submit'; ask for one that has"}


@pytest.mark.parametrize("how", ["revoked", "closed"])
def test_a_token_that_is_over(make, acme, how):
    if how == "revoked":
        tokens.revoke(acme)
    else:
        ApiClient.objects.update(is_active=False)
    assert "unknown" in reasons(handle(make()).letter)["headers.token"]


def test_everything_that_is_wrong_is_told_at_once(make):
    letter = handle(make(None, body=b"{", headers={"token": "x"}, content_type="x")).letter
    assert set(reasons(letter)) == {"headers.token", "message_id", "body"}


def test_properties_that_cannot_be_read(make):
    message = make(None, headers={"token": None, "client": None}, unreadable="UnicodeDecodeError")
    assert reasons(handle(message).letter) == {"properties": "cannot be read: UnicodeDecodeError"}


@pytest.mark.parametrize("is_good", [True, False])
def test_the_token_is_never_stored(make, token, is_good):
    body = None if is_good else b"{"
    key = "key-1"
    headers = {"Token": token, "deep": {"x-token": token}, "other": f"Bearer {token}"}
    handle(make(key, body=body, headers=headers, app_id=token, type=token, reply_to=token))
    rows = [*DeadLetter.objects.values(), *Order.objects.values(), *Process.objects.values()]
    assert rows
    assert token[14:] not in json.dumps(
        rows,
        default=lambda one: (
            bytes(one).decode() if isinstance(one, bytes | memoryview) else str(one)
        ),
    )
    assert ApiToken.objects.exists()


def test_what_is_no_token_of_ours_is_not_stored_either(make):
    secrets = {"token": "hunter2", "X-Password": "hunter2", "Authorization": "Basic hunter2"}
    letter = handle(make(headers={**secrets, "deep": [secrets], "till": "7"})).letter
    assert letter is not None
    assert letter.properties["headers"] == {"client": "acme", "deep": [{}], "till": "7"}


@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.parametrize("is_proven", [True, False])
def test_a_login_counts_only_where_broker_and_setting_vouch(make, settings, is_trusted, is_proven):
    settings.SUBMISSIONS_TRUST_USER_ID = is_trusted
    message = make(headers={"token": None}, user_id="acme", is_user_proven=is_proven)
    handled = handle(message)
    assert (handled.order is not None) == (is_trusted and is_proven)


@pytest.mark.parametrize(
    ("login", "headers", "field"),
    [
        ("nobody", {}, "user_id"),
        ("a\x00", {}, "user_id"),
        ("other", {}, "headers.client"),
        ("acme", {"token": "wrong"}, "headers.token"),
    ],
)
def test_a_login_that_does_not_count(make, settings, login, headers, field):
    new_client("other")
    settings.SUBMISSIONS_TRUST_USER_ID = True
    message = make(headers={"token": None, **headers}, user_id=login, is_user_proven=True)
    assert field in reasons(handle(message).letter)


def test_a_closed_client_cannot_use_its_login(make, settings):
    settings.SUBMISSIONS_TRUST_USER_ID = True
    ApiClient.objects.update(is_active=False)
    message = make(headers={"token": None}, user_id="acme", is_user_proven=True)
    assert "user_id" in reasons(handle(message).letter)
