"""Notify by webhook: one signed POST, within a total deadline."""

import time

from workers.notify.senders import http_post
from workers.notify.senders.delivery import Answer, StatusMessage, Undelivered
from workers.protocol.webhook_signing import signature as sign


def send(message: StatusMessage) -> Answer:
    """Post a message; return on any 2xx.  Raises ``Undelivered`` otherwise, within its deadline."""
    headers = {"User-Agent": "order-status/1", **signed(message.secrets, message.id, message.body)}
    if message.correlation_id:
        headers["Correlation-Id"] = message.correlation_id
    return http_post.post(message.address, message.body, headers)


def signed(secrets: tuple[str, ...], message_id: str, body: bytes) -> dict[str, str]:
    """Return the headers by which a receiver verifies the sender and the body."""
    sent_at = int(time.time())
    try:
        signature = sign(secrets, message_id, sent_at, body)
    except ValueError as problem:
        raise Undelivered("unsigned", error=str(problem)) from None
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(sent_at),
        "webhook-signature": signature,
    }
