"""Telling by webhook: one signed POST, within a total deadline."""

import time

from workers.notify.senders import http_post
from workers.notify.senders.delivery import Answer, Letter, Undelivered
from workers.protocol.webhook_signing import signature as sign


def send(letter: Letter) -> Answer:
    """Post a message; return on any 2xx.  Raises ``Undelivered``, in its time, for all else."""
    headers = {"User-Agent": "order-status/1", **signed(letter.secrets, letter.id, letter.body)}
    if letter.correlation_id:
        headers["Correlation-Id"] = letter.correlation_id
    return http_post.post(letter.address, letter.body, headers)


def signed(secrets: tuple[str, ...], message_id: str, body: bytes) -> dict[str, str]:
    """Return the headers by which a receiver knows who sent a message, and that it is whole."""
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
