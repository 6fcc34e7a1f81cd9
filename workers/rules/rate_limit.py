"""The rate limit of one agent: a token bucket, as a pure value.

A call takes a token when its claim is started, which is when the service sees it: however long
claims wait for a worker, none leaves for a token that another has used.  A claim that nobody
has started has a token reserved.  In no second are more calls made than the rate says: a tenth of
a second's worth may be started at once, at least one, and what runs in during a second makes up
the rest.  So a service sees nine tenths of its rate in the long run, and never more than the rate.
"""

from dataclasses import dataclass, replace
from datetime import datetime

#: The part of a second's calls that may be started at once.
AT_ONCE = 0.1
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
        return max(1.0, self.per_second * AT_ONCE)

    @property
    def refill(self) -> float:
        """Return how many tokens run in a second.

        With those that may be started at once they make up the rate.  Where that is one call, calls
        are a fixed time apart, and a little more than the rate asks: none is quicker on its way.
        """
        return self.per_second * (1.0 - AT_ONCE)

    @property
    def room(self) -> int:
        """Return how many claims there are tokens for."""
        return max(0, int(self.tokens - self.unstarted))

    def refilled(self, now: datetime) -> "Bucket":
        """Return the bucket with what has run in since it was last looked at."""
        if self.at is None:
            return replace(self, tokens=self.at_once, at=now)
        seconds = max(0.0, (now - self.at).total_seconds())
        return replace(self, tokens=min(self.at_once, self.tokens + seconds * self.refill), at=now)

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
        wait = max(0.0, (1.0 - self.tokens + self.unstarted) / self.refill)
        if wait and self.tokens >= self.at_once:
            # No time brings another token, but a start does.
            return max(wait, LOOK_AGAIN_SECONDS)
        return wait
