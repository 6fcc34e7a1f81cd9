"""The soak: every fault at random for a long time, and nothing that grows."""

from statistics import median

from tests.chaos.faults import CATALOGUE
from tests.chaos.options import MANY_PAUSES
from tests.chaos.run import Outcome
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.scenario import Scenario, orders
from tests.chaos.stage import Stage

SECONDS = 600.0
ORDERS = 1200
MOST_GROWTH = 10.0


def soak(stage: Stage) -> list[Bound]:
    seconds = stage.options.seconds or SECONDS
    count = orders(stage, round(ORDERS * seconds / SECONDS))
    # What ends every process at once begins all memory anew, and nothing could be seen to grow.
    every = tuple(name for name in CATALOGUE if name != "crash-all")
    faults = stage.options.faults if stage.options.is_chosen else every
    pauses = max(stage.options.pauses, MANY_PAUSES)
    plan = stage.plan(faults, count, seconds, rate=count / seconds / 0.95, heal_seconds=300,
                      pauses=pauses)  # fmt: skip
    outcome = stage.run("soak", plan)
    found = [Bound("growth of memory", _growth(outcome, "memory_mb"), MOST_GROWTH, "%")]
    if "postgresql" in plan.pair:
        growth = _growth(outcome, "connections")
        found.append(Bound("growth of connections", growth, MOST_GROWTH, "%"))
    return found


def _growth(outcome: Outcome, field: str) -> float | None:
    """Compare the median of the second quarter with that of the last: what dies and comes
    again moves the one as much as the other.
    """
    values = [
        getattr(sample, field)
        for sample in outcome.chronicle.samples
        if sample.states is not None and sample.at <= outcome.faults_ended
    ]
    quarter = len(values) // 4
    if quarter < 4:
        return None
    before, after = median(values[quarter : 2 * quarter]), median(values[3 * quarter :])
    return round(100 * (after / before - 1), 1) if before else None


SCENARIOS = (Scenario("soak", "every fault at random for 10 min, samples over time", soak, ORDERS),)
