"""N16: services that lie in time, with operators, clients and kills at once."""

from tests.chaos.people import People
from tests.chaos.run import Run
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.scenario import Scenario, orders
from tests.chaos.stage import Stage, rhythm

PER_SECOND = 4
SHORTEST_SECONDS = 60.0
RHYTHMS = {
    "lie": rhythm("lie", 1, (5.0, 8.0)),
    "kill": rhythm("kill", 20),
    "kill-child": rhythm("kill-child", 8),
    "kill-door": rhythm("kill-door", 30),
    "kill-sandbox": rhythm("kill-sandbox", 45),
}
LIES = ("lie_rate", "drop_after_effect_rate", "garbage_rate")


def n16(stage: Stage) -> list[Bound]:
    """What each order's money, goods and papers must be, the reconciliation says of every run."""
    count = orders(stage, 1000)
    seconds = max(SHORTEST_SECONDS, count / PER_SECOND)
    taken: list[int] = []

    def act(run: Run) -> None:
        people = People(run.system, run.observer, run.plan.seed)
        people.start()
        run.strike_and_wait()
        people.end()
        for (name, is_taken), times in sorted(people.acts.items()):
            run.tell(f"{name} {'taken' if is_taken else 'refused'}: {times}")
        taken.append(people.taken())

    plan = stage.plan(tuple(RHYTHMS), count, seconds, rhythms=RHYTHMS,
                      rate=count / seconds / 0.9, heal_seconds=300)  # fmt: skip
    outcome = stage.run("under-faults", plan, act)
    return [
        Bound("sums in the ledgers that no state explains", outcome.verdict.unexplained, 0),
        Bound("lies told", sum(outcome.spoiled[lie] for lie in LIES), count / 10,
              "", is_floor=True),
        Bound("acts of operators, clients and events taken", taken[0], count / 10,
              "", is_floor=True),
    ]  # fmt: skip


SCENARIOS = (
    Scenario("n16", "services that lie in time, with operators, clients and kills at once",
             n16, 1000),
)  # fmt: skip
