"""What is noticed every few seconds is logged once in a while."""

from collections.abc import Hashable
from threading import Lock
from time import monotonic

#: The same is logged again by the same process after so long, while it lasts.
QUIET_SECONDS = 300.0


class RepeatedLines:
    """Knows what this process has logged lately; forgets it after that time."""

    def __init__(self, seconds: float = QUIET_SECONDS) -> None:
        self._seconds = seconds
        self._lock = Lock()
        #: Key -> when it was logged, the oldest first.
        self._logged: dict[Hashable, float] = {}

    def is_due(self, key: Hashable) -> bool:
        """Say whether to log this now; if so, it counts as logged."""
        now = monotonic()
        with self._lock:
            for old, at in list(self._logged.items()):
                if now - at < self._seconds:
                    break
                del self._logged[old]
            if key in self._logged:
                return False
            self._logged[key] = now
            return True
