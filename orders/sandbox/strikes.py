"""Decides which fault switches strike a call.

By a hash of the seed, the key and the number of the key's calls under the current fault set, not
by a shared random generator: the order of threads changes nothing.
"""

import hashlib
import secrets
import threading
from collections import Counter

from orders.sandbox.calls import Call
from orders.sandbox.faults import FaultSet

RATES = (
    "error_rate",
    "hang_rate",
    "drop_after_effect_rate",
    "garbage_rate",
    "lie_rate",
    "duplicate_rate",
)


class Strikes:
    """A fault set and the calls counted since it came into force."""

    def __init__(self, faults: FaultSet) -> None:
        self.faults = faults
        self._rates = tuple((switch, getattr(faults, switch)) for switch in RATES)
        self._is_random = any(rate for _, rate in self._rates)
        self._seed = secrets.token_hex() if faults.seed is None else str(faults.seed)
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()

    def on(self, call: Call) -> dict[str, float]:
        """Count a call and return the switches that strike it, each with its random number."""
        switches: dict[str, float] = {}
        if self.faults.latency_seconds:
            switches["latency_seconds"] = 0.0
        for switch, divisor in (
            ("hang_every", self.faults.hang_every),
            ("fail_every", self.faults.fail_every),
        ):
            if divisor is not None and call.order % divisor == 0:
                switches[switch] = 0.0
        if self._is_random:
            nth = self._next(call.key)
            for switch, rate in self._rates:
                if (draw := self._draw(call, switch, nth)) < rate:
                    switches[switch] = draw
        return switches

    def _next(self, key: str) -> int:
        with self._lock:
            self._calls[key] += 1
            return self._calls[key]

    def _draw(self, call: Call, switch: str, nth: int) -> float:
        text = f"{self._seed} {switch} {call.service} {call.operation.name} {call.key} {nth}"
        digest = hashlib.sha256(text.encode()).digest()
        return int.from_bytes(digest[:6]) / 2**48
