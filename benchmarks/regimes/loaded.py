"""Orders at a steady pace beside a service that takes seconds, however many of them end."""

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import figures, processes
from benchmarks.regimes import service
from benchmarks.regimes.client import FEW, client
from benchmarks.regimes.costs import Meter
from benchmarks.system import System, wait

LOOK_SECONDS = 0.25
#: Ends are counted by so many seconds; by fewer where orders come for less than a minute.
SPAN_SECONDS, SHORT_SPAN_SECONDS = 10, 5


def loaded(system: System, module: str, folder: Path, *words: str) -> dict[str, Any]:
    """Submit so many orders at such a pace; wait for the ends so many seconds and count them.

    ``words`` are those three.
    """
    orders, patience = int(words[0]), float(words[2])
    system.prepare()
    with service.beside(folder), processes.fleet(folder, {}) as fleet:
        system.start(fleet)
        with client(folder, module, "loaded", *words) as submitting:
            wait(system, FEW)
            meter = Meter(fleet)
            meter.begin()
            with Looks() as looks:
                found = submitting.run()
            meter.end()
        memory = fleet.memory_mb()
    ended = sum(end is not None for end in found["ended"])
    costs = {}
    if ended:
        counted = meter.costs(ended)
        counted.cpu_ms["client"] = 1000 * found["cpu_seconds"] / ended
        costs = counted.as_found()
    if ended == orders:
        system.check(FEW + ended)
    at_once = looks.at_once(found["taken"])
    megabytes = sum(map(sum, memory.values()))
    return {
        **pace(found["due"], found["ended"], found["taken"] + patience),
        "calls_at_once": at_once,
        "calls_most": looks.most,
        "memory_mb": megabytes,
        "memory_mb_per_call": megabytes / at_once if at_once else None,
        **costs,
        **system.so_far(),
    }


def pace(due: Sequence[float], ended: Sequence[float | None], given_up: float) -> dict[str, Any]:
    """Return how many orders ended a second: in all, while others came, and after the last.

    What an order waited is unknown, and longer than all that is known, where it has not ended.
    """
    began, last = due[0], due[-1]
    seconds = last - began
    ends = sorted(end for end in ended if end is not None)
    is_done = len(ends) == len(due)
    waits = [
        float("inf") if end is None else end - came for came, end in zip(due, ended, strict=True)
    ]
    span = SPAN_SECONDS if seconds >= 60 else SHORT_SPAN_SECONDS
    spans = [0] * max(1, int(seconds // span))
    for end in ends:
        if (place := int((end - began) // span)) < len(spans):
            spans[place] += 1
    done = [count / span for count in spans]
    later = done[len(done) // 2 :]
    peak = max(done)
    over = ends[-1] if is_done else given_up
    after = sum(end > last for end in ends)
    return {
        "orders": len(due),
        "ended": len(ends),
        "per_second": len(ends) / (over - began),
        "p50_s": _known(figures.percentile(waits, 50)),
        "p95_s": _known(figures.percentile(waits, 95)),
        "done": done,
        "peak_per_second": peak,
        "held_percent": 100 * sum(later) / len(later) / peak if peak else 0.0,
        "drained_per_second": after / (over - last),
    }


def _known(seconds: float) -> float | None:
    return None if seconds == float("inf") else seconds


class Looks:
    """Asks the service for its counts, again and again, while a block runs."""

    def __init__(self) -> None:
        self._looks: list[tuple[float, Mapping[str, Any]]] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Looks":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self._looks.append((time.time(), service.counts()))
            if self._is_over.wait(LOOK_SECONDS):
                return

    @property
    def most(self) -> int:
        return max(int(counts["most"]) for _, counts in self._looks)

    def at_once(self, until: float) -> float | None:
        """Return the calls that went on at once, on average, in the second half before that."""
        middle = (self._looks[0][0] + until) / 2
        seen = [counts for at, counts in self._looks if middle <= at <= until]
        if len(seen) < 2:
            return None
        seconds = seen[-1]["at"] - seen[0]["at"]
        return float((seen[-1]["call_seconds"] - seen[0]["call_seconds"]) / seconds)
