"""N1 to N4: kill -9 every two seconds, alone and with what else may die."""

from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.scenario import Scenario, fault_free, orders, within
from tests.chaos.schedule import Rhythm
from tests.chaos.stage import Stage, rhythm

#: Every two seconds on average, one third workers and two thirds children of their pools.
KILLS = {"kill": rhythm("kill", 6), "kill-child": rhythm("kill-child", 3)}
LONGEST_SECONDS = 1800.0
REST_SECONDS = 60.0


def _until_done(stage: Stage, factor: float, more: dict[str, Rhythm]) -> list[Bound]:
    count = orders(stage, 1000)
    without = fault_free(stage, count)
    rhythms = {**KILLS, **more}
    plan = stage.plan(
        tuple(rhythms), count, LONGEST_SECONDS, doors=("direct",), until_done=True, rhythms=rhythms
    )
    outcome = stage.run("under-faults", plan)
    return [within("all orders ended", outcome, factor, without)]


def n1(stage: Stage) -> list[Bound]:
    return _until_done(stage, 2.5, {})


def n2(stage: Stage) -> list[Bound]:
    """The load lasts as long as the kills: three minutes for all the orders."""
    count = orders(stage, 3000)
    seconds = 180 * count / 3000
    plan = stage.plan(
        tuple(KILLS), count, max(20.0, seconds), doors=("direct",), rhythms=KILLS,
        heal_seconds=600,
    )  # fmt: skip
    outcome = stage.run("under-faults", plan)
    rest = outcome.at_rest and round(outcome.at_rest - outcome.last_mark, 1)
    return [Bound("last order ended after the last kill", rest, REST_SECONDS, "s")]


def n3(stage: Stage) -> list[Bound]:
    # SQLite has no process of its own: it crashes with those that write.
    is_server = stage.options.pair.startswith("postgresql")
    crash = "database-crash" if is_server else "crash-all"
    return _until_done(stage, 6.8, {crash: rhythm(crash, 10)})


def n4(stage: Stage) -> list[Bound]:
    return _until_done(stage, 5.5, {"broker-wipe": rhythm("broker-wipe", 15)})


SCENARIOS = (
    Scenario("n1", "kill -9 every 2 s until done", n1, 1000),
    Scenario("n2", "kill -9 every 2 s for as long as orders come in", n2, 3000),
    Scenario("n3", "n1, and the database crashes every 10 s", n3, 1000),
    Scenario("n4", "n1, and the broker is wiped every 15 s", n4, 1000),
)
