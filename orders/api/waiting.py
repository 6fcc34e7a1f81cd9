"""Bounds how many requests may wait for a change, per process and per client."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from orders.models import ApiClient

#: Default number of places per process; `gunicorn.conf.py` gives half its threads.
DEFAULT_PLACES = 8


class Places:
    """The places of a process for waiting requests.

    Each request that waits occupies a thread: without a bound a few clients could occupy all.
    """

    def __init__(self, places: int) -> None:
        self._lock = Lock()
        self._waiting: Counter[int] = Counter()
        self.limit(places)

    def limit(self, places: int) -> None:
        """Let ``places`` requests wait at a time, at most half of them of one client."""
        self._places = places
        self._per_client = (places + 1) // 2

    @contextmanager
    def taken(self, client: ApiClient) -> Iterator[bool]:
        """Hold a place during the block; False: none is free, so do not wait."""
        with self._lock:
            is_free = (
                self._waiting.total() < self._places and self._waiting[client.pk] < self._per_client
            )
            self._waiting[client.pk] += is_free
        try:
            yield is_free
        finally:
            with self._lock:
                self._waiting[client.pk] -= is_free
                if not self._waiting[client.pk]:
                    del self._waiting[client.pk]


places = Places(DEFAULT_PLACES)
