"""Publishing as a stranger's program would: py-amqp's bare protocol, no kombu, no Celery."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

import amqp

QUEUE = "orders.submissions"
BODY: dict[str, Any] = {
    "customer": {"name": "Ada Lovelace", "email": "ada@example.org", "address": "1 Mill Lane"},
    "lines": [{"sku": "SKU-001", "quantity": 2}],
    "reference": "cart-1",
}


@contextmanager
def channel(url: str) -> Iterator[Any]:
    """Yield a channel to the vhost of ``url`` on which publishing waits for the broker."""
    parts = urlsplit(url)
    with amqp.Connection(
        host=f"{parts.hostname}:{parts.port or 5672}",
        userid=parts.username or "guest",
        password=parts.password or "guest",
        virtual_host=unquote(parts.path[1:]).lstrip("/") or "/",
        confirm_publish=True,
    ) as connection:
        yield connection.channel()


def publish(
    to: Any,
    key: str | None,
    token: str = "",
    *,
    client: str = "acme",
    body: Any = None,
    headers: dict[str, Any] | None = None,
    exchange: str = "",
    **properties: Any,
) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body or BODY).encode()
    given = {"client": client, "token": token} if headers is None else headers
    if key is not None:
        properties["message_id"] = key
    message = amqp.Message(raw, application_headers=given, **properties)
    to.basic_publish(message, exchange=exchange, routing_key=QUEUE, confirm_timeout=10)
