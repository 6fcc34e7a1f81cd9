"""How soon and how often a call is retried: pure functions of values."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Backoff:
    """Full jitter: a random time up to base x 2^n, never over the cap.

    The source of the rule: AWS Architecture Blog, "Exponential Backoff And Jitter" (2015).
    """

    base_seconds: float
    cap_seconds: float

    def ceiling(self, tries: int) -> float:
        """Return the longest delay in seconds after ``tries`` failures (1 or more)."""
        # The cap is reached long before 2^30; the bound keeps the power finite.
        return min(self.cap_seconds, self.base_seconds * 2.0 ** min(tries - 1, 30))

    def seconds(self, tries: int, rng: random.Random | None = None) -> float:
        """Return a delay in seconds, uniform from 0 to the ceiling."""
        return (rng or random).uniform(0, self.ceiling(tries))


def is_exhausted(failure_count: int, threshold: int) -> bool:
    """Say whether a step that failed this often has used up its attempts.

    The threshold is the number of attempts: 3 means that the third failure is the last.
    """
    return failure_count >= threshold


def is_out_of_time(
    began_at: datetime | None, total_seconds: float | None, now: datetime, delay_seconds: float
) -> bool:
    """Say whether the next attempt would begin after the total time for all attempts.

    Checked only when a failure is counted: time spent waiting in queues, or for a service
    that cannot be reached, never ends a step.
    """
    if began_at is None or total_seconds is None:
        return False
    return now + timedelta(seconds=delay_seconds) >= began_at + timedelta(seconds=total_seconds)
