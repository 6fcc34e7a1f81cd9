"""Verify incoming webhooks: were they sent by the holder of the secret, and just now?

A scheme says how a provider signs.  ``standard_webhooks`` is the usual one
(standardwebhooks.com); ``stripe`` is that of the header ``Stripe-Signature``.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from workers.exceptions import BadSignature
from workers.protocol.webhook_signing import signature

#: How far a webhook's time may differ from ours.
TOLERANCE_SECONDS = 300
#: Ids that a message may have.
ID = re.compile(r"[\x21-\x7e]{1,200}")
#: Until the year 5138; ``datetime`` has no time with more digits.
_SECONDS = re.compile(r"[0-9]{1,11}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Signed:
    """What a valid signature vouches for, besides the body."""

    sent_at: datetime
    #: The message's id; None if the scheme has it in the body.
    id: str | None = None


#: (headers, raw body, secrets, now) -> what is vouched for.  Raises ``BadSignature``, and
#: ``ValueError`` for an invalid secret.
Scheme = Callable[[Mapping[str, str], bytes, Sequence[str], datetime], Signed]


def standard_webhooks(
    headers: Mapping[str, str], body: bytes, secrets: Sequence[str], now: datetime
) -> Signed:
    """Check ``webhook-id``, ``webhook-timestamp`` and ``webhook-signature``.

    Any of the signatures, by any of the secrets, is accepted, so that either side may change its
    secret while the other still has both.  Raises ``BadSignature``.
    """
    message_id = headers.get("webhook-id", "")
    if not ID.fullmatch(message_id):
        raise BadSignature("webhook-id must be 1 to 200 printable ASCII characters without spaces.")
    sent_at = _fresh("webhook-timestamp", headers.get("webhook-timestamp", ""), now)
    expected = signature(tuple(secrets), message_id, int(sent_at.timestamp()), body).split(" ")
    _compare("webhook-signature", headers.get("webhook-signature", "").split(" "), expected)
    return Signed(sent_at, message_id)


def stripe(
    headers: Mapping[str, str], body: bytes, secrets: Sequence[str], now: datetime
) -> Signed:
    """Check ``Stripe-Signature``, ``t=<seconds>,v1=<hex>``; the id is the body's ``id``.

    Raises ``BadSignature``.
    """
    parts = [part.partition("=") for part in headers.get("stripe-signature", "").split(",")]
    timestamp = next((value for name, _, value in parts if name == "t"), "")
    sent_at = _fresh("t of Stripe-Signature", timestamp, now)
    signed = f"{timestamp}.".encode() + body
    expected = [hmac.new(key.encode(), signed, hashlib.sha256).hexdigest() for key in secrets]
    _compare("Stripe-Signature", [value for name, _, value in parts if name == "v1"], expected)
    return Signed(sent_at)


def _fresh(name: str, text: str, now: datetime) -> datetime:
    if not _SECONDS.fullmatch(text):
        raise BadSignature(f"{name} must be the time of sending in whole seconds since 1970.")
    sent_at = datetime.fromtimestamp(int(text), UTC)
    if abs((now - sent_at).total_seconds()) > TOLERANCE_SECONDS:
        raise BadSignature(
            f"{name} is more than {TOLERANCE_SECONDS} s from our time. "
            "Sign anew at every try, and keep your clock right."
        )
    return sent_at


def _compare(name: str, signatures: Iterable[str], expected: Sequence[str]) -> None:
    valid = [text.encode() for text in expected]
    # Bytes, because compare_digest refuses texts that are not ASCII.
    if not any(hmac.compare_digest(text.encode(), good) for text in signatures for good in valid):
        raise BadSignature(
            f"{name} has no signature of this body by a secret that we know. "
            "Sign the raw body, and compare the secrets of both sides."
        )
