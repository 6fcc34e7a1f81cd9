"""The rate limit of one agent, or of one key of it: a token bucket, as a pure value.

A call takes a token in the write that claims and starts it.  Only whole tokens are spent, so no
second sees more calls than what the bucket holds and gains in it, rounded down: that is never more
than the rate.  In the long run a service sees up to nineteen twentieths of its rate.
"""

from dataclasses import dataclass, replace
from datetime import datetime

#: The share of the rate that the bucket gains in a second.
REFILL = 0.95
#: What it may hold beyond one token, as a share of the rate: calls that start a moment late are
#: made up for.  With ``REFILL`` below 1, so that one more call than the rate never fits.
SAVED_UP = 0.04


@dataclass(frozen=True, slots=True)
class Bucket:
    per_second: float
    tokens: float = 0.0
    at: datetime | None = None

    @classmethod
    def full_in(cls, per_second: float, seconds: float, now: datetime) -> "Bucket":
        """Return the bucket that will be full in so many seconds, all else being equal."""
        full = cls(per_second, at=now)
        return replace(full, tokens=full.at_once - max(0.0, seconds) * full.refill)

    @property
    def at_once(self) -> float:
        """Return how many tokens the bucket may hold."""
        return 1.0 + self.per_second * SAVED_UP

    @property
    def refill(self) -> float:
        """Return how many tokens the bucket gains in a second."""
        return self.per_second * REFILL

    @property
    def room(self) -> int:
        """Return how many calls may start now."""
        return max(0, int(self.tokens))

    def refilled(self, now: datetime) -> "Bucket":
        """Return the bucket with the tokens gained since it was last refilled."""
        if self.at is None:
            return replace(self, tokens=self.at_once, at=now)
        seconds = max(0.0, (now - self.at).total_seconds())
        return replace(self, tokens=min(self.at_once, self.tokens + seconds * self.refill), at=now)

    def spent(self, calls: int) -> "Bucket":
        """Return the bucket without the tokens of calls that start now.

        May fall below 0 if more calls start than there are tokens: the next ones wait longer.
        """
        return replace(self, tokens=self.tokens - calls)

    def seconds_to_full(self) -> float:
        """Return the time until the bucket is full; 0: it is."""
        return max(0.0, (self.at_once - self.tokens) / self.refill)

    def seconds_to_next(self) -> float:
        """Return the time until half of what the bucket may hold is there; 0: now.

        Whoever looks then lets several calls start, and is early enough that no token is lost.
        """
        return max(0.0, (max(1.0, self.at_once / 2) - self.tokens) / self.refill)
