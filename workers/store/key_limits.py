"""What a key has spent of its rate, and what operators set for it: a row while there is either.

A full bucket without an operator's limits is no row: keys at rest cost nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from workers.rules.rate_limit import Bucket
from workers.runtime.failpoints import durable
from workers.store.db import dialect

#: So many rows are forgotten at once.
PORTION = 5_000
#: The columns of a row w of a key, which ``read`` reads.
COLUMNS = 'w."window", w.rate_per_second, w.full_at'
#: SQL that is true if an operator has set a rate for a key.
IS_RATED = (
    "EXISTS (SELECT 1 FROM workers_limitedkey r WHERE r.key = {key}"
    " AND r.rate_per_second IS NOT NULL)"
)


def value(column: str, key: str, default: str) -> str:
    """Return SQL for a column of a key's row, or for what holds without it."""
    found = f'(SELECT v."{column}" FROM workers_limitedkey v WHERE v.key = {key})'
    return f"coalesce({found}, {default})"


def read(
    row: Sequence[Any], window: int, rate: float | None, at: datetime | None
) -> tuple[int, Bucket | None]:
    """Return the window and the tokens of a key; None: it has no rate.

    ``row`` has the ``COLUMNS``; ``window`` and ``rate`` are those of the code.
    """
    own_window, own_rate, full_at = row
    window = window if own_window is None else own_window
    rate = rate if own_rate is None else own_rate
    if rate is None or at is None:
        return window, None
    full = dialect.instant(full_at) or at
    return window, Bucket.full_in(rate, (full - at).total_seconds(), at)


def write(buckets: Mapping[str, Bucket], agents: Mapping[str, str], at: datetime) -> None:
    """Write the tokens of keys; ``agents`` has the agent of each."""
    for key, bucket in sorted(buckets.items()):
        instants = (
            at + timedelta(seconds=seconds)
            for seconds in (bucket.seconds_to_next(), bucket.seconds_to_full())
        )
        dialect.execute(
            "INSERT INTO workers_limitedkey (key, agent, next_at, full_at) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (key) DO UPDATE SET next_at = excluded.next_at,"
            " full_at = excluded.full_at",
            [key, agents[key], *map(dialect.instant_text, instants)],
        )


def seconds_to_next(agents: Sequence[str], now: datetime | None) -> float | None:
    """Return the time until a waiting step of a key of agents gets a token; None: none waits."""
    moment, params = dialect.clock(now)
    rows = dialect.fetch(
        f"SELECT min(k.next_at), c.at FROM (SELECT {moment} AS at) c JOIN workers_limitedkey k"
        f" ON {dialect.among('k.agent')} AND k.next_at > c.at"
        " WHERE EXISTS (SELECT 1 FROM workers_live l WHERE l.limit_key = k.key"
        " AND l.state = 'pending') GROUP BY c.at",
        [*params, dialect.id_list(sorted(agents))],
    )
    if not rows:
        return None
    next_at, at = map(dialect.instant, rows[0])
    assert next_at is not None
    assert at is not None
    return (next_at - at).total_seconds()


def forget_full(limit: int, now: datetime | None = None) -> int:
    """Delete rows of keys whose bucket is full, and for which nobody set anything."""
    moment, params = dialect.clock(now)
    keys = (
        'SELECT k.key FROM workers_limitedkey k WHERE k."window" IS NULL'
        f" AND k.rate_per_second IS NULL AND k.full_at <= {moment} ORDER BY k.full_at LIMIT %s "
        + dialect.lock_rows("k", skip_locked=True)
    )
    with durable("key_limits.forget_full"):
        return dialect.execute(
            f"DELETE FROM workers_limitedkey WHERE {dialect.among_found('key', keys)}",
            [*params, limit],
        )
