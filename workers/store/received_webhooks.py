"""Which webhooks have been taken, so that none is taken twice."""

from datetime import datetime

from workers.store.db import dialect


def remember(provider: str, message_id: str, now: datetime | None = None) -> bool:
    """Note that a webhook is taken.  False: it was taken before; nothing was changed.

    Must run inside the transaction that applies it: of two that come at once the second
    waits here for the first.
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
