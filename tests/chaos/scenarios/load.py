"""N12 and N13: nothing fails, there is only too much to do."""

from tests.chaos.run import Run
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.scenario import Scenario, orders
from tests.chaos.stage import Stage

LOCKED = "database is locked"


def _failures(events: dict[str, int]) -> int:
    return events.get("failed", 0) + events.get("expired", 0)


def n12(stage: Stage) -> list[Bound]:
    """Orders come in as fast as they are accepted, which is far faster than they are done."""
    count = orders(stage, 2000)
    plan = stage.plan((), count, 3600, doors=("direct",), until_done=True)
    outcome = stage.run("overload", plan)
    done = [
        (sample.at, (sample.states or {}).get("processed", 0))
        for sample in outcome.chronicle.samples
        if sample.states is not None and sample.at <= outcome.faults_ended
    ]
    return [
        Bound("attempts that waiting used up", _failures(outcome.events), 0),
        Bound("second half of the orders, compared with the speed of the first",
              _steadiness(done), 0.5, "", is_floor=True),
    ]  # fmt: skip


def _steadiness(done: list[tuple[float, int]]) -> float | None:
    """Return the second half's speed as a share of the first half's.

    The halves are those of all that ended: beside each order there are processes that mail.
    """
    half = next((at for at, n in done if n >= done[-1][1] / 2), None)
    begin = next((at for at, n in done if n > 0), None)
    if half is None or begin is None or half <= begin or done[-1][0] <= half:
        return None
    return round((half - begin) / (done[-1][0] - half), 2)


def n13(stage: Stage) -> list[Bound]:
    """SQLite under all the processes of the system; a writer that gives up says so in its log."""
    count = orders(stage, 700)
    locked: list[int] = []

    def act(run: Run) -> None:
        run.strike_and_wait()
        logs = (run.folder / "logs").glob("*.log")
        locked.append(sum(log.read_text(errors="replace").count(LOCKED) for log in logs))

    plan = stage.plan((), count, 3600, until_done=True)
    outcome = stage.run("overload", plan, act)
    rows = sum(outcome.events.values())
    speed = rows / outcome.faults_ended
    stage.progress.say(f"{rows} journal rows, {speed:.0f} a second, the services' calls included")
    return [
        Bound(f'"{LOCKED}" in the logs', locked[0], 0),
        Bound("attempts that waiting used up", _failures(outcome.events), 0),
    ]


SCENARIOS = (
    Scenario("n12", "ten times as many orders as can be done, no fault", n12, 2000),
    Scenario("n13", "SQLite under eight writing processes", n13, 700, ("sqlite",)),
)
