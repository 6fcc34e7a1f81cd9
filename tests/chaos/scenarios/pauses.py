"""N5 and N11: workers that freeze past their deadlines, workers that are restarted all the time."""

from tests.chaos.faults.services import SERVICES
from tests.chaos.run import Run
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.scenario import Scenario, orders
from tests.chaos.stage import Stage, rhythm

PAUSES = 40
EVERY_SECONDS = 1.5
#: The services take their time, so that a pause meets a call.
SLOW_SECONDS = 0.3


def n5(stage: Stage) -> list[Bound]:
    count = orders(stage, 600)
    pauses = max(3, round(PAUSES * count / 600))
    # Two agents: each is frozen 8 s at a time, with a moment between.
    rhythms = {"freeze": rhythm("freeze", EVERY_SECONDS, (8.0, 9.0))}
    seconds = pauses * (8.5 + EVERY_SECONDS) + 10
    plan = stage.plan(("freeze",), count, seconds, rhythms=rhythms, doors=("direct",),
                      rate=count / seconds / 0.9, heal_seconds=300)  # fmt: skip

    def act(run: Run) -> None:
        for service in SERVICES:
            run.system.set_faults(service, latency_seconds=SLOW_SECONDS)
        run.strike_and_wait()

    outcome = stage.run("under-faults", plan, act)
    verdict = outcome.verdict
    late = outcome.events.get("expired", 0) + outcome.events.get("stale_reply", 0)
    wanted = 5 if count >= 600 else 1
    return [
        Bound("pauses", verdict.strikes.get("freeze", 0), pauses, "", is_floor=True),
        Bound("steps that a frozen worker held past complete-by", late, wanted, "", is_floor=True),
        Bound("late results that were applied", verdict.duplicate_effects + verdict.violations, 0),
    ]


def n11(stage: Stage) -> list[Bound]:
    count = orders(stage, 900)
    seconds = max(30.0, 180 * count / 900)
    rhythms = {"rolling": rhythm("rolling", 2)}
    plan = stage.plan(("rolling",), count, seconds, rhythms=rhythms, rate=count / seconds / 0.9)
    outcome = stage.run("under-faults", plan)
    events = outcome.events
    failures = events.get("failed", 0) + events.get("expired", 0)
    part = round(100 * failures / max(1, events.get("claimed", 0)), 2)
    return [Bound("attempts that restarts used up", part, 1.0, "%")]


SCENARIOS = (
    Scenario("n5", "agents frozen past their deadlines, 40 times", n5, 600),
    Scenario("n11", "rolling restarts without a pause, for 3 min", n11, 900),
)
