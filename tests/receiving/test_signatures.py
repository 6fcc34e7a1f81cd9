"""What a signature must be: by the secret, over these very bytes, just now."""

import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from tests.receiving.conftest import OTHER, SECRET, STRIPE
from workers.exceptions import BadSignature
from workers.protocol import webhook_verification
from workers.protocol.webhook_signing import signature
from workers.protocol.webhook_verification import Signed, standard_webhooks, stripe

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BODY = b'{"type": "payment.settled", "amount": "18.50"}'
ID = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"


def signed(
    *by: str, at: datetime = NOW, body: bytes = BODY, message_id: str = ID
) -> dict[str, str]:
    seconds = int(at.timestamp())
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": signature(by or (SECRET,), message_id, seconds, body),
    }


def check(headers: dict[str, str], *secrets: str, body: bytes = BODY) -> Signed:
    return standard_webhooks(headers, body, secrets or (SECRET,), NOW)


def test_what_the_standard_s_own_library_signs_is_good():
    given = Webhook(SECRET).sign(ID, NOW, BODY.decode())
    headers = signed() | {"webhook-signature": given}
    assert check(headers) == Signed(NOW, ID)


def test_what_we_sign_is_good_to_the_standard_s_own_library():
    headers = signed(at=datetime.now(UTC))
    assert Webhook(SECRET).verify(BODY, headers)["amount"] == "18.50"


@pytest.mark.parametrize("known", [(SECRET, OTHER), (OTHER, SECRET)], ids=["new", "old"])
@pytest.mark.parametrize("by", [(SECRET,), (SECRET, STRIPE)], ids=["one", "two"])
def test_one_signature_by_one_of_the_secrets_is_enough(known, by):
    headers = signed(SECRET)
    if len(by) > 1:
        headers["webhook-signature"] = f"v1a,MEUCIQ== v1,AAAA {headers['webhook-signature']}"
    assert check(headers, *known) == Signed(NOW, ID)


@pytest.mark.parametrize("seconds", [-300, 0, 300])
def test_five_minutes_either_way_are_just_now(seconds):
    at = NOW + timedelta(seconds=seconds)
    assert check(signed(at=at)) == Signed(at, ID)


@pytest.mark.parametrize("seconds", [-301, 301])
def test_more_is_not(seconds):
    with pytest.raises(BadSignature, match="webhook-timestamp is more than 300 s"):
        check(signed(at=NOW + timedelta(seconds=seconds)))


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", " 1772366400", "+1772366400", "1_772_366_400", "1772366400.0", "1e9"),
        *("9" * 40, "१७७२३६६४००", "-5"),
    ],
)
def test_a_time_is_plain_seconds(text):
    with pytest.raises(BadSignature, match="webhook-timestamp must be the time"):
        check(signed() | {"webhook-timestamp": text})


@pytest.mark.parametrize("text", ["", "a b", "x" * 201, "a\x00b", "müde"])
def test_an_id_is_plain_and_short(text):
    with pytest.raises(BadSignature, match="webhook-id must be"):
        check(signed(message_id=text))


GOOD = signed()["webhook-signature"]


@pytest.mark.parametrize(
    "spoilt",
    [
        {"webhook-id": "msg_other"},
        {"webhook-timestamp": str(int(NOW.timestamp()) + 1)},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v1"},
        {"webhook-signature": GOOD.removeprefix("v1,")},
        {"webhook-signature": GOOD.replace("v1,", "v2,")},
        {"webhook-signature": GOOD.lower()},
        {"webhook-signature": GOOD[:-1]},
        {"webhook-signature": GOOD + "="},
        {"webhook-signature": "v1,é" + "=" * 40},
        {"webhook-signature": signed(OTHER)["webhook-signature"]},
        {"webhook-signature": signed(body=BODY + b" ")["webhook-signature"]},
    ],
    ids=str,
)
def test_whatever_else_is_changed_is_no_signature(spoilt):
    with pytest.raises(BadSignature, match="webhook-signature has no signature of this body"):
        check(signed() | spoilt)


@pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_each_header_is_needed(missing):
    headers = signed()
    del headers[missing]
    with pytest.raises(BadSignature, match=missing):
        check(headers)


def test_one_changed_byte_of_the_body_is_found():
    with pytest.raises(BadSignature):
        check(signed(), body=BODY.replace(b"18.50", b"18.51"))


def test_a_body_need_not_be_text():
    body = bytes(range(256))
    assert check(signed(body=body), body=body) == Signed(NOW, ID)


def test_a_secret_that_is_none_is_said_to_be():
    with pytest.raises(ValueError, match="not base64"):
        check(signed(), "whsec_not base64 at all")


def stripe_header(secret: str = STRIPE, at: datetime = NOW, body: bytes = BODY) -> str:
    seconds = int(at.timestamp())
    mac = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256)
    return f"t={seconds},v1={mac.hexdigest()}"


def check_stripe(header: str, *secrets: str) -> Signed:
    return stripe({"stripe-signature": header}, BODY, secrets or (STRIPE,), NOW)


@pytest.mark.parametrize(
    "header",
    [
        stripe_header(),
        stripe_header() + ",v0=" + "0" * 64,
        stripe_header().replace(",v1=", ",v1=" + "0" * 64 + ",v1="),
    ],
    ids=["plain", "with an older scheme", "while the secret is changed"],
)
def test_stripe_s_header_is_good(header):
    assert check_stripe(header) == Signed(NOW)
    assert check_stripe(header, OTHER, STRIPE) == Signed(NOW)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "t=,v1=",
        "v1=" + "0" * 64,
        stripe_header(OTHER),
        stripe_header(body=BODY + b" "),
        stripe_header(at=NOW - timedelta(seconds=301)),
        stripe_header(at=NOW + timedelta(seconds=301)),
        stripe_header().replace("v1=", "v0="),
        stripe_header().replace("t=17", "t=1772366401,x=17"),
    ],
    ids=str,
)
def test_whatever_else_is_not(header):
    with pytest.raises(BadSignature):
        check_stripe(header)


@pytest.mark.parametrize(
    ("scheme", "headers"),
    [(standard_webhooks, signed(OTHER)), (stripe, {"stripe-signature": stripe_header(OTHER)})],
    ids=["standard", "stripe"],
)
def test_signatures_are_compared_in_constant_time(monkeypatch, scheme, headers):
    compared: list[Any] = []

    def compare(given: bytes, expected: bytes) -> bool:
        compared.append((given, expected))
        return True

    monkeypatch.setattr(webhook_verification.hmac, "compare_digest", compare)
    # Nothing but that comparison stands between a wrong signature and us.
    scheme(headers, BODY, (SECRET,), NOW)
    assert len(compared) == 1
