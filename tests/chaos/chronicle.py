"""What happened when: marks of faults, and a lane of states per process and server."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Mark:
    """A fault that struck: from when to when, at what."""

    fault: str
    lane: str
    says: str
    began: float
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen from outside at one instant."""

    at: float
    #: Orders by state; None while the database did not answer.
    states: dict[str, int] | None
    accepted: int
    memory_mb: float = 0.0
    connections: int = 0


@dataclass
class Chronicle:
    """The record of one run; every method is thread-safe."""

    marks: list[Mark] = field(default_factory=list)
    #: Lane -> (since when, state): up, down, frozen, starting, gone.
    lanes: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def now(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self._began

    def begin(self) -> None:
        """Count from here; what was up before is up from the beginning."""
        with self._lock:
            self._began = time.monotonic()
            self.lanes = {name: [(0.0, track[-1][1])] for name, track in self.lanes.items()}

    def lane(self, name: str, state: str) -> None:
        """Note that a process or server is in this state from now on."""
        with self._lock:
            track = self.lanes.setdefault(name, [])
            if not track or track[-1][1] != state:
                track.append((self.now(), state))

    def sample(self, sample: Sample) -> None:
        with self._lock:
            self.samples.append(sample)

    def strike(self, fault: str, lane: str, says: str) -> Mark:
        """Note a fault at the instant at which it strikes; its end is noted by ``over``."""
        mark = Mark(fault, lane, says, self.now())
        with self._lock:
            self.marks.append(mark)
        return mark

    def over(self, mark: Mark) -> None:
        mark.ended = self.now()

    @contextmanager
    def during(self, fault: str, lane: str, says: str) -> Iterator[Mark]:
        """Note a fault that lasts as long as a block."""
        mark = self.strike(fault, lane, says)
        try:
            yield mark
        finally:
            self.over(mark)

    def strikes(self) -> dict[str, int]:
        """Count how often each fault struck."""
        with self._lock:
            names = [mark.fault for mark in self.marks]
        return {name: names.count(name) for name in sorted(set(names))}
