"""The rate limit of one agent: a token bucket, as a pure value.

A call takes a token when its claim is started, which is when the service sees it: however long
claims wait for a worker, none leaves for a token that another has used.  A claim that nobody
has started has a token reserved.  Half a second's worth may be started at once, at least one;
after that, as many as the rate says: in no second more than one and a half times the rate,
rounded up, or one more than the rate where that is less than 2.
"""

from dataclasses import dataclass, replace
from datetime import datetime

#: When it is looked again where all that there is has been claimed, and nothing is started yet.
LOOK_AGAIN_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Bucket:
    per_second: float
    tokens: float = 0.0
    at: datetime | None = None
    #: Claims that nobody has started.
    unstarted: int = 0

    @property
    def at_once(self) -> float:
        """Return how many calls may be made at once."""
        return max(1.0, self.per_second / 2)

    @property
    def size(self) -> float:
        # The fraction runs in while a claim is on its way to its start, and is no call by itself.
        return self.at_once + min(0.5, self.per_second / 4)

    @property
    def room(self) -> int:
        """Return how many claims there are tokens for."""
        return max(0, int(self.tokens - self.unstarted))

    def refilled(self, now: datetime) -> "Bucket":
        """Return the bucket with what has run in since it was last looked at."""
        if self.at is None:
            return replace(self, tokens=self.at_once, at=now)
        seconds = max(0.0, (now - self.at).total_seconds())
        return replace(self, tokens=min(self.size, self.tokens + seconds * self.per_second), at=now)

    def reserved(self, claims: int) -> "Bucket":
        """Return the bucket with tokens kept for claims that are yet to be started."""
        return replace(self, unstarted=self.unstarted + claims)

    def spent(self, calls: int) -> "Bucket":
        """Return the bucket without the tokens of calls that are made now.

        Below 0 where more are made than there were tokens: the next ones wait for longer.
        """
        return replace(self, tokens=self.tokens - calls)

    def seconds_to_next(self) -> float:
        """Return the time until one more claim may be taken; 0: now."""
        wait = max(0.0, (1.0 - self.tokens + self.unstarted) / self.per_second)
        if wait and self.tokens >= self.size:
            # No time brings another token, but a start does.
            return max(wait, LOOK_AGAIN_SECONDS)
        return wait
