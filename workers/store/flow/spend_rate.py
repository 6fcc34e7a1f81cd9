"""Count the calls of an agent with a rate, when they start."""

from datetime import datetime

from workers.rules.rate_limit import Bucket
from workers.runtime.failpoints import durable
from workers.store.db import dialect


def spend(agent: str, calls: int, now: datetime | None = None) -> None:
    """Take the tokens of calls that are about to start; do nothing for an agent without a rate.

    Commits before their claims are started: a worker that dies in between wastes tokens, but no
    call starts uncounted.
    """
    with durable("spend_rate.spend"):
        moment, params = dialect.clock(now)
        rows = dialect.fetch(
            f"SELECT f.rate_per_second, f.tokens, f.refilled_at, {moment} FROM workers_flow f"
            " WHERE f.agent = %s AND f.rate_per_second IS NOT NULL " + dialect.lock_rows("f"),
            [*params, agent],
        )
        for rate, tokens, refilled_at, at in rows:
            instant = dialect.instant(at)
            assert instant is not None
            bucket = Bucket(rate, tokens, dialect.instant(refilled_at)).refilled(instant)
            dialect.execute(
                "UPDATE workers_flow SET tokens = %s, refilled_at = %s WHERE agent = %s",
                [bucket.spent(calls).tokens, dialect.instant_text(instant), agent],
            )
