"""What the measurements ask of an engine: ours, or one that people use instead."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.processes import Fleet


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


def filled_one_by_one(system: System, orders: int) -> None:
    submit = system.submitter()
    for number in range(orders):
        submit(number)
