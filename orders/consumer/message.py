"""A message as it was received, and the part of it that may be stored."""

import math
import re
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

from workers.runtime import storable_text

#: AMQP's basic properties without the headers.
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
#: Names of headers that are never stored, at any depth.
SECRET = re.compile(r"token|secret|passw|authorization", re.IGNORECASE)
#: One of our tokens, anywhere in a text.
TOKEN = re.compile(r"sas_[0-9a-f]{8}_[A-Za-z0-9_-]+")
LONGEST_TEXT = 1000
MOST_ENTRIES = 100
DEEPEST = 5


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the submission queue, unchecked."""

    body: bytes
    properties: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, Any] = field(default_factory=dict)
    #: Delivered before without being acknowledged.
    is_redelivered: bool = False
    #: The broker has compared ``user_id`` with the publisher's login.
    is_user_proven: bool = False
    #: Why properties and headers could not be read; empty: they were read.
    unreadable: str = ""
    #: The delivery tag, for the acknowledgement.
    tag: Any = None

    def text(self, name: str) -> str:
        """Return a property if it is a string, else an empty one."""
        value = self.properties.get(name)
        return value if isinstance(value, str) else ""

    def header(self, name: str) -> str:
        """Return a header if it is a string, else an empty one."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""

    def as_json(self) -> dict[str, Any]:
        """Return properties and headers as JSON that every database stores, without secrets."""
        values = {name: self.properties.get(name) for name in PROPERTIES}
        fields = {name: _tidy(value) for name, value in values.items() if value is not None}
        if self.headers:
            fields["headers"] = _tidy(self.headers)
        if self.unreadable:
            fields["unreadable"] = storable(self.unreadable)
        return fields


def storable(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text without tokens and characters that databases refuse, cut to ``longest``."""
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
            storable(str(name), 200): _tidy(item, depth + 1)
            for name, item in list(value.items())[:MOST_ENTRIES]
            if not SECRET.search(str(name))
        }
    if isinstance(value, list | tuple):
        return [_tidy(item, depth + 1) for item in value[:MOST_ENTRIES]]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return storable(_as_text(value))


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # an integer with more digits than Python converts
        return f"<{type(value).__name__}>"
