"""How many requests a client may send: a count per client and minute, in the cache."""

import time

from django.core.cache import cache

from orders.models import ApiClient

MINUTE = 60


class TooMany(Exception):
    """A client has used up its minute."""

    def __init__(self, per_minute: int, seconds: int) -> None:
        super().__init__(f"more than {per_minute} requests a minute")
        self.per_minute = per_minute
        self.seconds = seconds


def count(client: ApiClient, now: float | None = None) -> None:
    """Count one request; raise ``TooMany`` past the client's limit.

    Counted in Django's cache: per process, unless the cache is one that processes share.
    """
    at = time.time() if now is None else now
    minute, second = divmod(int(at), MINUTE)
    key = f"api-requests:{client.pk}:{minute}"
    cache.add(key, 0, timeout=2 * MINUTE)
    try:
        sent = cache.incr(key)
    except ValueError:
        # A full cache has dropped it in between.
        sent = 1
    if sent > client.requests_per_minute:
        raise TooMany(client.requests_per_minute, MINUTE - second)
