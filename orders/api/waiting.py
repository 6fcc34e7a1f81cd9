"""Who may wait for a change: a bounded number of requests of this process, and of each client."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from orders.models import ApiClient

#: Places of a process whose server says nothing else; `gunicorn.conf.py` gives half its threads.
DEFAULT_PLACES = 8


class Places:
    """A process's places to wait.

    Each request that waits takes a thread: without a bound a few clients would take them all, and
    the web with them.
    """

    def __init__(self, places: int) -> None:
        self._lock = Lock()
        self._waiting: Counter[int] = Counter()
        self.limit(places)

    def limit(self, places: int) -> None:
        """Let so many requests wait at a time, and half as many of one client."""
        self._places = places
        self._of_one = (places + 1) // 2

    @contextmanager
    def taken(self, client: ApiClient) -> Iterator[bool]:
        """Take a place for a block; False: there is none, so do not wait."""
        with self._lock:
            is_free = (
                self._waiting.total() < self._places and self._waiting[client.pk] < self._of_one
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
