"""N15: services that take seconds, hang and refuse, while orders keep coming in."""

import time
from collections.abc import Sequence
from itertools import pairwise

from benchmarks import figures
from tests.chaos import witness
from tests.chaos.faults.services import SERVICES
from tests.chaos.run import Run
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.scenario import Scenario, orders
from tests.chaos.stage import Stage, rhythm
from tests.chaos.system import AGENT_CHILDREN

PER_SECOND = 4
SLOW_SECONDS = 2.0
#: Longer than a worker takes to come back, with the other one frozen meanwhile.
SILENT_SECONDS = 15.0
REST_SECONDS = 60.0
RHYTHMS = {
    "kill": rhythm("kill", 15),
    "kill-child": rhythm("kill-child", 8),
    "freeze": rhythm("freeze", 25, (8.0, 9.0)),
    "freeze-child": rhythm("freeze-child", 8, (6.0, 10.0)),
    "purge": rhythm("purge", 8),
    # Slower than they usually are, and a tenth of the calls hang.
    "slow": rhythm("slow", 12, (5.0, 8.0)),
    "down": rhythm("down", 18, (3.0, 6.0)),
}


def n15(stage: Stage) -> list[Bound]:
    """Each order takes three calls, so that two dozen have to go on at once: four a process."""
    count = orders(stage, 600)
    seconds = max(30.0, count / PER_SECOND)
    effects: list[float] = []

    def act(run: Run) -> None:
        run.system.usual = {"latency_seconds": SLOW_SECONDS}
        for service in SERVICES:
            run.system.set_faults(service, **run.system.usual)
        run.strike_and_wait()
        effects.extend([*witness.effect_times(run.system.sandbox_url), time.time()])

    plan = stage.plan(tuple(RHYTHMS), count, seconds, rhythms=RHYTHMS, rate=count / seconds,
                      heal_seconds=300)  # fmt: skip
    outcome = stage.run("under-faults", plan, act)
    rest = outcome.at_rest and round(outcome.at_rest - outcome.last_mark, 1)
    return [
        Bound("longest time in which no service did anything", longest_silence(effects),
              SILENT_SECONDS, "s"),
        Bound("calls that went on at once, more than one a process",
              figures.at_once(effects[:-1], SLOW_SECONDS), AGENT_CHILDREN + 1, "", is_floor=True),
        Bound("last order ended after the last fault", rest, REST_SECONDS, "s"),
    ]  # fmt: skip


def longest_silence(times: Sequence[float]) -> float | None:
    """Return the longest time between two of them; None where nothing happened at all."""
    gaps = [after - before for before, after in pairwise(times)]
    return round(max(gaps), 1) if gaps else None


SCENARIOS = (
    Scenario("n15", "services of 2 s that hang and refuse, kills, frozen children, purged queues",
             n15, 600),
)  # fmt: skip
