"""What must not be printed, whatever an error message repeats."""

import re
from urllib.parse import unquote, urlsplit

from django.conf import settings

MASK = "***"
#: Shorter ones would mask words.
SHORTEST = 4
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+@", re.IGNORECASE)


def masked(text: str) -> str:
    """Return a text without the passwords in its URLs, and without those of the settings."""
    for secret in _known():
        text = text.replace(secret, MASK)
    return _IN_URL.sub(rf"\1{MASK}@", text)


def _known() -> list[str]:
    found = [str(settings.SECRET_KEY), str(getattr(settings, "EMAIL_HOST_PASSWORD", ""))]
    found += [str(config.get("PASSWORD") or "") for config in settings.DATABASES.values()]
    found += [password for url in _urls() if (password := _password(url))]
    found += [unquote(one) for one in found]
    # The longest first: one may be part of another.
    return sorted({one for one in found if len(one) >= SHORTEST}, key=len, reverse=True)


def _urls() -> list[str]:
    found = (getattr(settings, name, None) for name in ("CELERY_BROKER_URL", "BROKER_URL"))
    # Several brokers stand behind each other, divided by semicolons.
    return [url for one in found for url in str(one or "").split(";")]


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""
