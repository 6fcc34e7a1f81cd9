"""Limits requests: a count per minute and sender, in Django's cache."""

import time

from django.core.cache import cache

from workers.views.problems import RequestRefused

MINUTE = 60


class TooMany(RequestRefused):
    """A sender has used up the requests of this minute."""

    def __init__(self, per_minute: int, seconds: int) -> None:
        detail = f"No more than {per_minute} requests a minute are taken. Wait {seconds} s."
        super().__init__(429, detail, retry_after=seconds)
        self.per_minute = per_minute
        self.seconds = seconds


def count(whose: str, per_minute: int, now: float | None = None) -> None:
    """Count one request; raise ``TooMany`` past the limit.

    Counts per process, unless processes share the cache.
    """
    at = time.time() if now is None else now
    minute, second = divmod(int(at), MINUTE)
    key = f"{whose}:{minute}"
    cache.add(key, 0, timeout=2 * MINUTE)
    try:
        sent = cache.incr(key)
    except ValueError:
        # A full cache has dropped the key in between.
        sent = 1
    if sent > per_minute:
        raise TooMany(per_minute, MINUTE - second)
