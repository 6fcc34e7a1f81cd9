"""Callback tokens: an idempotency key, signed.

Signed with Django's ``SECRET_KEY``; keys in ``SECRET_KEY_FALLBACKS`` are still accepted, so a
rotation leaves outstanding tokens valid.
"""

from django.core import signing

from workers.exceptions import BadToken

_SALT = "workers.callback"


def make(key: str) -> str:
    """Return the callback token of an idempotency key."""
    return signing.Signer(salt=_SALT).sign(key)


def read(token: str) -> str:
    """Return the idempotency key of a token; raise ``BadToken``."""
    try:
        return signing.Signer(salt=_SALT).unsign(token)
    except signing.BadSignature:
        raise BadToken("This callback token was not made here, or is damaged.") from None
