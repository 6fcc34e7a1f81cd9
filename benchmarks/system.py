"""What the measurements ask of an engine: ours, or one that people use instead."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.exceptions import Wrong
from benchmarks.processes import Fleet
from benchmarks.shape import LIMIT_SECONDS

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the orders are, by the engine's own record; instants in seconds since 1970."""

    ended: int
    first_begin: float | None
    last_end: float | None


class System(Protocol):
    def prepare(self) -> None:
        """Make tables and queues.  Raises ``Unavailable`` where something is missing."""

    def start(self, fleet: Fleet) -> None:
        """Start the processes that work, and wait until they do."""

    def fill(self, orders: int) -> None:
        """Submit orders 0, 1, ... while nothing works yet."""

    def submitter(self) -> Callable[[int], object]:
        """Return what submits one order by its number; several threads may call it."""

    def progress(self) -> Progress: ...

    def ends(self) -> Iterator[int]:
        """Watch for ends from now on; yields the number of each order once its end can be seen."""

    def check(self, orders: int) -> dict[str, Any] | None:
        """Raise ``Wrong`` unless so many orders were done, and done right.

        It may return more figures.
        """

    def so_far(self) -> dict[str, Any]:
        """Return more figures of its own record, however many orders have ended."""
        return {}


def filled_one_by_one(system: System, orders: int) -> None:
    submit = system.submitter()
    for number in range(orders):
        submit(number)


def wait(system: System, orders: int) -> None:
    """Wait until so many orders have ended; raise ``Wrong`` where they do not."""
    end = time.monotonic() + LIMIT_SECONDS
    while (ended := system.progress().ended) < orders:
        if time.monotonic() > end:
            raise Wrong(f"{ended} of {orders} orders have ended after {LIMIT_SECONDS} s")
        time.sleep(POLL_SECONDS)
