"""Sign webhooks, as Standard Webhooks specifies (standardwebhooks.com)."""

import base64
import binascii
import hashlib
import hmac

PREFIX = "whsec_"


def signature(secrets: tuple[str, ...], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``: one signature for each secret.

    Raises ``ValueError`` for a secret that is not base64.
    """
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join(f"v1,{_sign(secret, signed)}" for secret in secrets)


def _sign(secret: str, signed: bytes) -> str:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("a webhook secret is not base64") from None
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
