"""The circuit breaker of one agent: a pure function of its state and the answers.

Closed: claims flow.  Open: nothing is claimed; steps wait and use up no attempts.  Half
open, once the time is over: one claim at a time is the probe.

The pattern's text: Microsoft, Cloud Design Patterns, "Circuit Breaker".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from workers.states import BreakerState


@dataclass(frozen=True, slots=True)
class Breaker:
    streak: int = 0
    opened_at: datetime | None = None
    open_until: datetime | None = None
    #: The state that an operator forces: open, closed, or None.
    forced: str | None = None

    def room(self, now: datetime, window: int, in_flight: int) -> int:
        """Return how many more claims may be in flight."""
        if self.forced == "open":
            return 0
        if self.open_until is None or self.forced == "closed":
            return max(0, window - in_flight)
        if now < self.open_until:
            return 0
        return max(0, 1 - in_flight)

    def standing(self, now: datetime) -> BreakerState:
        """Return the breaker's state; an operator's choice wins."""
        if self.forced is not None:
            return BreakerState(f"forced_{self.forced}")
        if self.open_until is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now < self.open_until else BreakerState.HALF_OPEN

    def after(
        self, reached: Sequence[bool], now: datetime, threshold: int, seconds: float
    ) -> "Breaker":
        """Return the breaker after these answers, in order; each: was the service reached?"""
        breaker = self
        for was_reached in reached:
            if was_reached:
                breaker = Breaker(forced=self.forced)
                continue
            streak = breaker.streak + 1
            breaker = replace(breaker, streak=streak)
            is_due = breaker.open_until is None or now >= breaker.open_until
            if streak >= threshold and is_due:
                breaker = Breaker(
                    streak,
                    breaker.opened_at or now,
                    now + timedelta(seconds=seconds),
                    self.forced,
                )
        return breaker
