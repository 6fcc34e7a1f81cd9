"""One measurement: start the processes, have orders submitted, count what they cost."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import child, figures, processes
from benchmarks.regimes import loaded, service
from benchmarks.regimes.client import WARMING, client
from benchmarks.regimes.costs import Meter
from benchmarks.system import POLL_SECONDS, System, wait


def serve(system: System, module: str, **more: Callable[..., Any]) -> None:
    """Serve every regime, as ``python -m`` of a contender's module."""
    child.ensure_folder()
    regimes = {
        "filled": partial(filled, system),
        "sustained": partial(sustained, system, module),
        "steady": _Seen(system, module, "steady"),
        "idle": _Seen(system, module, "idle"),
        "loaded": partial(loaded.loaded, system, module),
    }
    child.serve({**regimes, **more}, sys.argv[1:])


def filled(system: System, folder: Path, orders: str) -> dict[str, Any]:
    """Fill the queue, then start the processes; count from the first begin to the last end."""
    wanted = int(orders)
    system.prepare()
    began = time.perf_counter()
    system.fill(wanted)
    taken = wanted / (time.perf_counter() - began)
    with service.beside(folder), processes.fleet(folder, {}) as fleet:
        meter = Meter(fleet)
        meter.begin()
        system.start(fleet)
        # Not at the first end: of a chain's orders the last steps come when most is done.
        while system.progress().first_begin is None:
            time.sleep(POLL_SECONDS)
        meter.begin_again(system.progress().ended)
        wait(system, wanted)
        meter.end()
        memory = fleet.memory_mb()
    progress = system.progress()
    more = system.check(wanted) or {}
    seconds = progress.last_end - progress.first_begin
    return {
        "per_second": wanted / seconds,
        "orders": wanted,
        "seconds": seconds,
        "submitted_per_second": taken,
        "memory_mb": memory,
        **meter.costs(wanted).as_found(),
        **more,
    }


def sustained(
    system: System, module: str, folder: Path, orders: str, submitters: str
) -> dict[str, Any]:
    """Submit while the processes work; count from the first submission to the last end."""
    wanted = int(orders)
    system.prepare()
    with processes.fleet(folder, {}) as fleet:
        system.start(fleet)
        with client(folder, module, "sustained", orders, submitters) as submitting:
            wait(system, WARMING)
            meter = Meter(fleet)
            meter.begin()
            found = submitting.run()
            wait(system, WARMING + wanted)
            meter.end()
    costs = meter.costs(wanted)
    costs.cpu_ms["client"] = 1000 * found["cpu_seconds"] / wanted
    system.check(WARMING + wanted)
    return {
        "per_second": wanted / (system.progress().last_end - found["began"]),
        "taken_per_second": wanted / (found["taken"] - found["began"]),
        "orders": wanted,
        **costs.as_found(),
    }


@dataclass(frozen=True, slots=True)
class _Seen:
    """Has each order's end seen; counts from when it was to be submitted."""

    system: System
    module: str
    mode: str

    def __call__(self, folder: Path, orders: str, much: str = "0") -> dict[str, Any]:
        wanted = int(orders)
        self.system.prepare()
        with processes.fleet(folder, {}) as fleet:
            self.system.start(fleet)
            with client(folder, self.module, self.mode, orders, much) as submitting:
                wait(self.system, WARMING)
                meter = Meter(fleet)
                meter.begin()
                found = submitting.run()
                meter.end()
            wait(self.system, WARMING + wanted)
        costs = meter.costs(wanted)
        costs.cpu_ms["client"] = 1000 * found["cpu_seconds"] / wanted
        self.system.check(WARMING + wanted)
        return {**figures.spread(found["waits"]), "orders": wanted, **costs.as_found()}
