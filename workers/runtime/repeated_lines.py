"""Log conditions that recur every few seconds only once in a while."""

from collections.abc import Hashable
from threading import Lock
from time import monotonic

#: Time after which the same process logs the same key again.
QUIET_SECONDS = 300.0


class RepeatedLines:
    """Remembers which keys this process has logged lately."""

    def __init__(self, seconds: float = QUIET_SECONDS) -> None:
        self._seconds = seconds
        self._lock = Lock()
        #: Key -> when it was logged, the oldest first.
        self._logged: dict[Hashable, float] = {}

    def is_due(self, key: Hashable) -> bool:
        """Say whether to log this now; if so, it counts as logged."""
        now = monotonic()
        with self._lock:
            for logged_key, at in list(self._logged.items()):
                if now - at < self._seconds:
                    break
                del self._logged[logged_key]
            if key in self._logged:
                return False
            self._logged[key] = now
            return True
