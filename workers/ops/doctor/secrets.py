"""Masks secrets that error messages may repeat."""

import re
from urllib.parse import unquote, urlsplit

from django.conf import settings

MASK = "***"
#: Masking shorter secrets would mask words.
SHORTEST = 4
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+@", re.IGNORECASE)


def masked(text: str) -> str:
    """Return a text without the passwords in its URLs, and without those of the settings."""
    for secret in _secrets():
        text = text.replace(secret, MASK)
    return _IN_URL.sub(rf"\1{MASK}@", text)


def _secrets() -> list[str]:
    secrets = [str(settings.SECRET_KEY), str(getattr(settings, "EMAIL_HOST_PASSWORD", ""))]
    secrets += [str(config.get("PASSWORD") or "") for config in settings.DATABASES.values()]
    secrets += [password for url in _urls() if (password := _password(url))]
    secrets += [unquote(secret) for secret in secrets]
    # The longest first: one may be part of another.
    return sorted({secret for secret in secrets if len(secret) >= SHORTEST}, key=len, reverse=True)


def _urls() -> list[str]:
    values = (getattr(settings, name, None) for name in ("CELERY_BROKER_URL", "BROKER_URL"))
    # A setting may list several brokers, separated by semicolons.
    return [url for value in values for url in str(value or "").split(";")]


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""
