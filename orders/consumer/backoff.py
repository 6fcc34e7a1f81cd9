"""Exponential backoff."""


class Backoff:
    """Pauses that double from ``first`` up to ``longest`` seconds."""

    def __init__(self, first: float = 0.5, longest: float = 30.0) -> None:
        self._first = first
        self._longest = longest
        self.times = 0

    def next(self) -> float:
        """Return the next pause."""
        self.times += 1
        return min(self._longest, self._first * 2.0 ** min(self.times - 1, 20))

    def reset(self) -> None:
        self.times = 0
