"""Counting the calls of an agent with a rate, when they are made."""

from datetime import datetime

from workers.rules.rate_limit import Bucket
from workers.runtime.failpoints import durable
from workers.store.db import dialect


def spend(agent: str, calls: int, now: datetime | None = None) -> None:
    """Take the tokens of calls that are about to be made; nothing for an agent without a rate.

    In a transaction of its own, before their claims are started: whoever dies in between has
    wasted tokens, and no call leaves that was not counted.
    """
    with durable("spend_rate.spend"):
        moment, params = dialect.clock(now)
        found = dialect.fetch(
            f"SELECT f.rate_per_second, f.tokens, f.refilled_at, {moment} FROM workers_flow f"
            " WHERE f.agent = %s AND f.rate_per_second IS NOT NULL " + dialect.lock_rows("f"),
            [*params, agent],
        )
        for rate, tokens, refilled_at, at in found:
            instant = dialect.instant(at)
            assert instant is not None
            bucket = Bucket(rate, tokens, dialect.instant(refilled_at)).refilled(instant)
            dialect.execute(
                "UPDATE workers_flow SET tokens = %s, refilled_at = %s WHERE agent = %s",
                [bucket.spent(calls).tokens, dialect.instant_text(instant), agent],
            )
