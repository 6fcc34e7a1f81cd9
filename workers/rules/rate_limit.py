"""The rate limit of one agent: a token bucket, as a pure value.

A second's worth of claims may leave at once; after that, as many as the rate says.
"""

from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Bucket:
    per_second: float
    tokens: float = 0.0
    at: datetime | None = None

    @property
    def size(self) -> float:
        return max(1.0, self.per_second)

    def refilled(self, now: datetime) -> "Bucket":
        """Return the bucket with what has run in since it was last looked at."""
        if self.at is None:
            return replace(self, tokens=self.size, at=now)
        seconds = max(0.0, (now - self.at).total_seconds())
        return replace(self, tokens=min(self.size, self.tokens + seconds * self.per_second), at=now)

    def spent(self, claims: int) -> "Bucket":
        return replace(self, tokens=self.tokens - claims)

    def seconds_to_next(self) -> float:
        """Return the time until one more claim may leave; 0: now."""
        return max(0.0, (1.0 - self.tokens) / self.per_second)
