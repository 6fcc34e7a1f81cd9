"""The rate limit of one agent: a token bucket, as a pure value.

A call takes a token when its claim is started, which is when the service sees it; a claim that is
not started has a token reserved.  So, however long claims wait for a worker, no two use the same
token.  No second sees more calls than the rate: a tenth of a second's calls, at least one, may
start at once, and the refill during the second makes up the rest.  So a service sees nine tenths
of its rate in the long run, and never more than the rate.
"""

from dataclasses import dataclass, replace
from datetime import datetime

#: The share of a second's calls that may start at once.
AT_ONCE = 0.1
#: When to look again if all tokens are claimed and none of those claims has started.
LOOK_AGAIN_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Bucket:
    per_second: float
    tokens: float = 0.0
    at: datetime | None = None
    #: Claims that no agent has started.
    unstarted: int = 0

    @property
    def at_once(self) -> float:
        """Return how many calls may start at once."""
        return max(1.0, self.per_second * AT_ONCE)

    @property
    def refill(self) -> float:
        """Return how many tokens the bucket gains in a second.

        With the calls that may start at once they make up the rate.  If that is one call, calls
        are a fixed time apart, a little more than the rate asks, so that none catches up.
        """
        return self.per_second * (1.0 - AT_ONCE)

    @property
    def room(self) -> int:
        """Return for how many claims there are tokens."""
        return max(0, int(self.tokens - self.unstarted))

    def refilled(self, now: datetime) -> "Bucket":
        """Return the bucket with the tokens gained since it was last refilled."""
        if self.at is None:
            return replace(self, tokens=self.at_once, at=now)
        seconds = max(0.0, (now - self.at).total_seconds())
        return replace(self, tokens=min(self.at_once, self.tokens + seconds * self.refill), at=now)

    def reserved(self, claims: int) -> "Bucket":
        """Return the bucket with tokens reserved for claims that are not started."""
        return replace(self, unstarted=self.unstarted + claims)

    def spent(self, calls: int) -> "Bucket":
        """Return the bucket without the tokens of calls that start now.

        May fall below 0 if more calls start than there are tokens: the next ones wait longer.
        """
        return replace(self, tokens=self.tokens - calls)

    def seconds_to_next(self) -> float:
        """Return the time until one more claim may be taken; 0: now."""
        wait = max(0.0, (1.0 - self.tokens + self.unstarted) / self.refill)
        if wait and self.tokens >= self.at_once:
            # The bucket is full: only a start frees another token.
            return max(wait, LOOK_AGAIN_SECONDS)
        return wait
