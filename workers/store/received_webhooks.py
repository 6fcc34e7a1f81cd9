"""Remember received webhooks, so that none is applied twice."""

from datetime import datetime

from workers.store.db import dialect


def remember(provider: str, message_id: str, now: datetime | None = None) -> bool:
    """Record a webhook as received.  False: it was received before; nothing has changed.

    Must run inside the transaction that applies it: of two concurrent ones, the second waits here
    for the first.
    """
    moment, params = dialect.clock(now)
    return (
        dialect.execute(
            "INSERT INTO workers_receivedwebhook (provider, message_id, received_at)"
            f" VALUES (%s, %s, {moment}) ON CONFLICT (provider, message_id) DO NOTHING",
            [provider, message_id, *params],
        )
        == 1
    )
