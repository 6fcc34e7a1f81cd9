"""N15 and N17: services that take seconds, a machine that starves, and orders that keep coming."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from benchmarks import figures
from tests.chaos import witness
from tests.chaos.faults.services import SERVICES
from tests.chaos.run import Run
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.scenario import SHORTEST_SECONDS, Scenario, orders
from tests.chaos.schedule import Rhythm
from tests.chaos.stage import Stage, rhythm
from tests.chaos.system import AGENT_CHILDREN, STEP_TIMEOUT_SECONDS

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

    def slow_down(run: Run) -> None:
        run.system.usual = {"latency_seconds": SLOW_SECONDS}
        for service in SERVICES:
            run.system.set_faults(service, **run.system.usual)

    effects, bounds = _play(stage, 600, RHYTHMS, slow_down, SILENT_SECONDS)
    return [
        *bounds,
        Bound("calls that went on at once, more than one a process",
              figures.at_once(effects[:-1], SLOW_SECONDS), AGENT_CHILDREN + 1, "", is_floor=True),
    ]  # fmt: skip


STARVED_RHYTHMS = {
    "starve": rhythm("starve", 20, (8.0, 12.0)),
    "kill": rhythm("kill", 20),
    "kill-child": rhythm("kill-child", 8),
    "freeze-child": rhythm("freeze-child", 15, (6.0, 10.0)),
    "lose": rhythm("lose", 10),
}


def n17(stage: Stage) -> list[Bound]:
    """One service is nearly as slow as its agent waits; another one's agent has a rate."""

    def limit(run: Run) -> None:
        run.system.set_faults("shipping", latency_seconds=STEP_TIMEOUT_SECONDS - 1.5)
        run.system.manage("sas", "flow", "set", "payment.charge", "--rate", "8", "--reason", "n17")

    _, bounds = _play(stage, 300, STARVED_RHYTHMS, limit, SILENT_SECONDS + STEP_TIMEOUT_SECONDS)
    return bounds


def _play(
    stage: Stage, full: int, rhythms: Mapping[str, Rhythm], prepare: Callable[[Run], None],
    silent_seconds: float,
) -> tuple[list[float], list[Bound]]:  # fmt: skip
    """Have orders come in at a steady pace; return when services did something, and the bounds."""
    count = orders(stage, full)
    seconds = max(SHORTEST_SECONDS, count / PER_SECOND)
    effects: list[float] = []

    def act(run: Run) -> None:
        prepare(run)
        run.strike_and_wait()
        effects.extend([*witness.effect_times(run.system.sandbox_url), time.time()])

    plan = stage.plan(tuple(rhythms), count, seconds, rhythms=rhythms, rate=count / seconds,
                      heal_seconds=300)  # fmt: skip
    outcome = stage.run("under-faults", plan, act)
    rest = outcome.at_rest and round(outcome.at_rest - outcome.last_mark, 1)
    return effects, [
        Bound("longest time in which no service did anything", longest_silence(effects),
              silent_seconds, "s"),
        Bound("last order ended after the last fault", rest, REST_SECONDS, "s"),
    ]  # fmt: skip


def longest_silence(times: Sequence[float]) -> float | None:
    """Return the longest time between two of them; None where nothing happened at all."""
    gaps = [after - before for before, after in pairwise(times)]
    return round(max(gaps), 1) if gaps else None


SCENARIOS = (
    Scenario("n15", "services of 2 s that hang and refuse, kills, frozen children, purged queues",
             n15, 600),
    Scenario("n17", "a starved machine, long calls, a rate, kills, while orders come one by one",
             n17, 300),
)  # fmt: skip
