"""Which webhooks have been taken, so that none is taken twice."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from workers.runtime.failpoints import durable
from workers.store.db import dialect

#: How long an id is known.  A signature is good for minutes, but providers send what was not
#: acknowledged again for days, each time newly signed, and on request for weeks.
KEEP_SECONDS = 45 * 86_400


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


def forgettable(now: datetime | None = None) -> int:
    """Count the webhooks whose time is over."""
    return int(
        dialect.fetch(
            "SELECT count(*) FROM workers_receivedwebhook WHERE received_at < %s", [_cutoff(now)]
        )[0][0]
    )


def forget(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Forget the webhooks whose time is over, the oldest first; yield how many each time."""
    while True:
        with durable("received_webhooks.forget"):
            done = dialect.execute(
                "DELETE FROM workers_receivedwebhook"
                " WHERE id IN (SELECT w.id FROM workers_receivedwebhook w"
                " WHERE w.received_at < %s ORDER BY w.received_at LIMIT %s "
                + dialect.lock_rows("w", skip_locked=True)
                + ")",
                [_cutoff(now), limit],
            )
        yield done
        if done < limit:
            return


def _cutoff(now: datetime | None) -> str:
    return dialect.instant_text(dialect.read_clock(now) - timedelta(seconds=KEEP_SECONDS))
