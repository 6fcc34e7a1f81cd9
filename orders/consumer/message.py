"""A message as it came, and as much of it as may be kept."""

import math
import re
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

from workers.runtime import storable_text

#: Everything of AMQP's basic properties but the headers.
PROPERTIES = (
    "content_type",
    "content_encoding",
    "delivery_mode",
    "priority",
    "correlation_id",
    "reply_to",
    "expiration",
    "message_id",
    "timestamp",
    "type",
    "user_id",
    "app_id",
    "cluster_id",
)
#: Never kept, wherever among the headers they stand.
SECRET = re.compile(r"token|secret|passw|authorization", re.IGNORECASE)
#: One of our tokens, wherever somebody put it.
TOKEN = re.compile(r"sas_[0-9a-f]{8}_[A-Za-z0-9_-]+")
LONGEST_TEXT = 1000
MOST_ENTRIES = 100
DEEPEST = 5


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the submission queue; nothing in it has been looked at."""

    body: bytes
    properties: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, Any] = field(default_factory=dict)
    #: It was delivered before and not acknowledged.
    is_redelivered: bool = False
    #: The broker has compared ``user_id`` with the login of whoever published.
    is_user_proven: bool = False
    #: Why properties and headers could not be read; empty: they could.
    unreadable: str = ""
    #: What the broker acknowledges it by.
    tag: Any = None

    def text(self, name: str) -> str:
        """Return a property that is a text; empty where it is none."""
        value = self.properties.get(name)
        return value if isinstance(value, str) else ""

    def header(self, name: str) -> str:
        """Return a header that is a text; empty where it is none."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""

    def kept(self) -> dict[str, Any]:
        """Return properties and headers as JSON that every database stores, without secrets."""
        found = {name: self.properties.get(name) for name in PROPERTIES}
        kept = {name: _tidy(value) for name, value in found.items() if value is not None}
        if self.headers:
            kept["headers"] = _tidy(self.headers)
        if self.unreadable:
            kept["unreadable"] = storable(self.unreadable)
        return kept


def storable(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text without what databases refuse and without tokens, no longer than may be."""
    return TOKEN.sub("<token>", storable_text.storable(text))[:longest]


def _tidy(value: Any, depth: int = 0) -> Any:
    if depth > DEEPEST:
        return "..."
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"base64:{b64encode(bytes(value)[:LONGEST_TEXT]).decode()}"
    if isinstance(value, dict):
        return {
            storable(str(name), 200): _tidy(one, depth + 1)
            for name, one in list(value.items())[:MOST_ENTRIES]
            if not SECRET.search(str(name))
        }
    if isinstance(value, list | tuple):
        return [_tidy(one, depth + 1) for one in value[:MOST_ENTRIES]]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return storable(_shown(value))


def _shown(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # a whole number of more digits than Python writes
        return f"<{type(value).__name__}>"
