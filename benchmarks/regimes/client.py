"""`python -m benchmarks.regimes.client MODULE MODE ...`: the process that submits.

It submits a few orders that are not counted, says that it is ready, and waits for a line on
standard input.  Its last line is one JSON object.
"""

import importlib
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.exceptions import Wrong
from benchmarks.processes import ROOT
from benchmarks.system import System

#: Orders that are not counted: connections are made, caches filled.
WARMING = 20
#: The same where each of them takes seconds.
FEW = 4
READY = "benchmark: client ready"
#: Time between two orders at idle.
PAUSE_SECONDS = 0.02
#: Time that the process lives on when it has submitted, as a web server does: what it sends in
#: the background leaves.
LINGER_SECONDS = 0.3
LIMIT_SECONDS = 60
#: Threads that share a steady load: a slow submission holds no other up.
STEADY_THREADS = 8
SEED = 7


class Submitting:
    """Submits numbered orders, and remembers when each was due and what its threads used."""

    def __init__(self, submit: Callable[[int], object]) -> None:
        self._submit = submit
        self.due: dict[int, float] = {}
        self.cpu_seconds = 0.0
        self.wrong: list[str] = []
        self._lock = threading.Lock()

    def one(self, number: int, due: float | None = None) -> None:
        self.due[number] = due or time.time()
        self._submit(number)

    def by_threads(self, orders: Iterator[tuple[int, float | None]], threads: int) -> None:
        """Submit all orders; each thread takes the next when it has submitted its last."""
        started = [threading.Thread(target=self._take, args=(orders,)) for _ in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        if self.wrong:
            raise Wrong(f"a submission failed: {self.wrong[0]}")

    def _take(self, orders: Iterator[tuple[int, float | None]]) -> None:
        try:
            while True:
                with self._lock:
                    number, due = next(orders, (None, None))
                if number is None:
                    break
                if due is not None:
                    time.sleep(max(0.0, due - time.time()))
                self.one(number, due)
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {error}")
        with self._lock:
            self.cpu_seconds += time.thread_time()


def sustained(system: System, orders: int, threads: int) -> dict[str, Any]:
    """Submit as fast as orders are taken."""
    submitting = Submitting(system.submitter())
    _warm(submitting)
    began = time.time()
    numbers = range(WARMING, WARMING + orders)
    submitting.by_threads(iter(zip(numbers, itertools.repeat(None))), threads)
    return {"began": began, "taken": time.time(), "cpu_seconds": submitting.cpu_seconds}


def arrivals(orders: int, per_second: float, number: int = 0) -> list[float]:
    """Return the instants from now on at which orders come, by chance as customers do.

    The last comes when so many a second have come, whatever chance would have.  Each ``number`` is
    another chance.
    """
    chance = random.Random(SEED + number)
    came = list(itertools.accumulate(chance.expovariate(1) for _ in range(orders)))
    pace, now = orders / per_second / came[-1], time.time()
    return [now + pace * at for at in came]


def steady(system: System, orders: int, per_second: float) -> dict[str, Any]:
    """Submit so many a second, by chance as customers come; see each one end."""
    submitting = Submitting(system.submitter())
    seen = _watched(system.ends())
    _warm(submitting)
    plan = list(enumerate(arrivals(orders, per_second), WARMING))
    submitting.by_threads(iter(plan), STEADY_THREADS)
    _wait_for({number for number, _ in plan}, seen)
    waits = [1000 * (seen[number] - due) for number, due in plan]
    return {"waits": waits, "cpu_seconds": submitting.cpu_seconds}


def loaded(system: System, orders: int, per_second: float, patience: float) -> dict[str, Any]:
    """Submit so many a second, and wait no longer than that for their ends."""
    submitting = Submitting(system.submitter())
    seen = _watched(system.ends())
    _warm(submitting, FEW)
    plan = list(enumerate(arrivals(orders, per_second), FEW))
    submitting.by_threads(iter(plan), STEADY_THREADS)
    taken = time.time()
    while any(number not in seen for number, _ in plan) and time.time() < taken + patience:
        time.sleep(0.05)
    return {
        "due": [due for _, due in plan],
        "ended": [seen.get(number) for number, _ in plan],
        "taken": taken,
        "cpu_seconds": submitting.cpu_seconds,
    }


def paced(system: System, orders: int, per_second: float, number: int) -> dict[str, Any]:
    """Submit so many a second, as one of several clients; somebody else sees them end."""
    submitting = Submitting(system.submitter())
    _warm(submitting, FEW)
    plan = list(enumerate(arrivals(orders, per_second, number), FEW))
    submitting.by_threads(iter(plan), STEADY_THREADS)
    return {"orders": orders, "cpu_seconds": submitting.cpu_seconds}


def idle(system: System, orders: int, _: float) -> dict[str, Any]:
    """Submit one order, see it end, and rest."""
    submitting, waits, cpu = Submitting(system.submitter()), [], 0.0
    seen = _watched(system.ends())
    _warm(submitting)
    for number in range(WARMING, WARMING + orders):
        before = time.thread_time()
        submitting.one(number)
        cpu += time.thread_time() - before
        _wait_for({number}, seen)
        waits.append(1000 * (seen[number] - submitting.due[number]))
        time.sleep(PAUSE_SECONDS)
    return {"waits": waits, "cpu_seconds": cpu}


def _warm(submitting: Submitting, orders: int = WARMING) -> None:
    for number in range(orders):
        submitting.one(number)
    print(READY, flush=True)
    sys.stdin.readline()


def _watched(ends: Iterator[int]) -> dict[int, float]:
    """Return when each order's end was seen: filled by a thread, for as long as this process is."""
    seen: dict[int, float] = {}

    def watch() -> None:
        for number in ends:
            seen.setdefault(number, time.time())

    threading.Thread(target=watch, daemon=True).start()
    return seen


def _wait_for(numbers: set[int], seen: Mapping[int, float]) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not numbers <= seen.keys():
        if time.monotonic() > end:
            raise Wrong(f"{len(numbers - seen.keys())} orders have no end after {LIMIT_SECONDS} s")
        time.sleep(0.0002 if len(numbers) == 1 else 0.05)


class Client:
    """The process that submits, seen from the one that measures."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._log = folder / "client.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.regimes.client", *words], cwd=ROOT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        for line in self._process.stdout:
            if line.strip() == READY:
                return
        raise self._failed()

    def run(self) -> dict[str, Any]:
        """Let it submit; return what it found."""
        output, _ = self._process.communicate("go\n")
        if self._process.returncode:
            raise self._failed()
        return json.loads(output.strip().splitlines()[-1])

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _failed(self) -> Wrong:
        said = self._log.read_text(errors="replace").strip().splitlines()
        return Wrong(f"the client failed: {said[-1] if said else 'it said nothing'}")


@contextmanager
def client(folder: Path, *words: str) -> Iterator[Client]:
    made = Client(folder, *words)
    try:
        yield made
    finally:
        made.stop()


MODES = {
    "sustained": sustained, "steady": steady, "idle": idle, "loaded": loaded, "paced": paced,
}  # fmt: skip

if __name__ == "__main__":
    module, mode, *much = sys.argv[1:]
    one = importlib.import_module(module).SYSTEM
    numbers = [int(word) if word.isdecimal() else float(word) for word in much]
    print(json.dumps(MODES[mode](one, *numbers)), flush=True)
    time.sleep(LINGER_SECONDS)
    # Threads that watch for ends, or are the engine's own, are waited for by nobody.
    os._exit(0)
