"""How many more calls a service may get now.  Pure."""

from datetime import datetime
from typing import Protocol

from workers.rules.breaker import Breaker
from workers.rules.rate_limit import Bucket


class Flow(Protocol):
    """What an agent's flow row says, and how many calls its service has."""

    @property
    def window(self) -> int: ...
    @property
    def breaker(self) -> Breaker: ...
    @property
    def bucket(self) -> Bucket | None: ...
    @property
    def deferred_window(self) -> int | None: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def outstanding(self) -> int: ...


def room_left(flow: Flow, now: datetime) -> int:
    """Return how many more claims the service may get."""
    room = flow.breaker.room(now, flow.window, flow.in_flight)
    if flow.deferred_window is not None:
        # Each call in flight may be the next to defer.
        places = flow.deferred_window - flow.outstanding - flow.in_flight
        room = max(0, min(room, places))
    return room if flow.bucket is None else min(room, flow.bucket.room)
