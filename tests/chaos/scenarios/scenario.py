"""What a scenario is."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.run import Outcome
from tests.chaos.scenarios.bound import Bound
from tests.chaos.stage import Stage

#: A shorter run is judged as if it had taken so long without faults: one expiry alone takes
#: eight seconds, however few the orders are.
SHORTEST_SECONDS = 30.0


@dataclass(frozen=True)
class Scenario:
    """A preset."""

    name: str
    says: str
    play: Callable[[Stage], list[Bound]]
    #: Orders in full; `--orders` shortens it.
    orders: int
    #: What a pair must have for it.
    needs: tuple[str, ...] = ()


def orders(stage: Stage, full: int) -> int:
    return stage.options.orders or full


def fault_free(stage: Stage, count: int) -> float:
    """Play the same orders without a fault; return the seconds until the last has ended."""
    plan = stage.plan((), count, 3600, doors=("direct",), until_done=True)
    return stage.run("fault-free", plan).faults_ended


def within(name: str, outcome: Outcome, factor: float, without: float) -> Bound:
    """Bound a run's time by that of a run without faults."""
    limit = round(factor * max(without, SHORTEST_SECONDS), 1)
    says = f"{name}, {factor:g} times the {without:.0f} s without faults"
    return Bound(says, round(outcome.faults_ended, 1), limit, "s")


def share(values: list[float], part: float) -> float | None:
    """Return the value below which this part of them lies; None of none."""
    found = sorted(values)
    return found[min(len(found) - 1, int(part * len(found)))] if found else None
