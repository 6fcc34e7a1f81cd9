"""N7 to N10: the broker, the database, Beat are away, and come back."""

import threading
import time

from tests.chaos.observer import Away
from tests.chaos.run import Outcome, Run
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.scenario import SHORTEST_SECONDS, Scenario, fault_free, orders, share
from tests.chaos.schedule import Strike
from tests.chaos.stage import Stage

BEFORE_SECONDS, AFTER_SECONDS = 5.0, 15.0
RESTART_SECONDS = 30.0
SWEEP_AGE = (
    "SELECT extract(epoch FROM now() - performed_at) FROM workers_lease WHERE name = 'sweep'"
)
ALARM = "SELECT count(*) FROM workers_alert WHERE code = 'duty_overdue'"


def strike_for(run: Run, name: str, seconds: float) -> None:
    """Have one fault strike now, and wait until it is healed."""
    fault = next(fault for fault in run.plan.faults if fault.name == name)
    strike = Strike(run.chronicle.now(), name, seconds, f"{run.plan.seed} {name}")
    fault.strike(run.scene, strike)


def during(outcome: Outcome, fault: str) -> list[float]:
    """Return how long those waited who asked while a fault lasted."""
    spans = [(m.began, m.ended or m.began) for m in outcome.chronicle.marks if m.fault == fault]
    return [
        order.took
        for order in outcome.register.orders()
        if any(began <= order.at - order.took <= ended for began, ended in spans)
    ]


def n7(stage: Stage) -> list[Bound]:
    count = orders(stage, 300)
    seconds = max(10.0, count / 10)

    def act(run: Run) -> None:
        time.sleep(BEFORE_SECONDS)
        strike_for(run, "broker-stop", seconds)
        time.sleep(BEFORE_SECONDS)
        strike_for(run, "broker-hang", seconds)

    # Enough orders for both outages, however long the broker takes to come back.
    whole = 2 * (seconds + BEFORE_SECONDS) + RESTART_SECONDS
    plan = stage.plan(("broker-stop", "broker-hang"), count, whole, doors=("http",),
                      rate=count / whole)  # fmt: skip
    outcome = stage.run("under-faults", plan, act)
    stopped, hung = (share(during(outcome, name), 0.99) for name in ("broker-stop", "broker-hang"))
    return [
        Bound("HTTP 201 with the broker down (p99)", stopped, 0.3, "s"),
        Bound("HTTP 201 with the broker hung (p99)", hung, 1.0, "s"),
    ]


def n8(stage: Stage) -> list[Bound]:
    count = orders(stage, 240)

    def act(run: Run) -> None:
        time.sleep(BEFORE_SECONDS)
        strike_for(run, "database-outage", 30)
        time.sleep(AFTER_SECONDS)

    whole = 30 + BEFORE_SECONDS + AFTER_SECONDS
    plan = stage.plan(("database-outage",), count, whole, rate=count / whole)
    outcome = stage.run("under-faults", plan, act)
    return [Bound("first order processed after its return", _first_after(outcome), 10.0, "s")]


def _first_after(outcome: Outcome) -> float | None:
    """Return how long after the last fault's end one more order was processed."""
    ended = max(mark.ended or 0.0 for mark in outcome.chronicle.marks)
    samples = [sample for sample in outcome.chronicle.samples if sample.states is not None]
    before = [s.states.get("processed", 0) for s in samples if s.at <= ended and s.states]
    for sample in samples:
        more = (sample.states or {}).get("processed", 0) > (before[-1] if before else 0)
        if sample.at > ended and more:
            return round(sample.at - ended, 1)
    return None


def n9(stage: Stage) -> list[Bound]:
    """All orders come in while the broker is away; then they drain."""
    count = orders(stage, 1000)
    without = fault_free(stage, count)
    outage = max(20.0, 300 * count / 1000)

    def act(run: Run) -> None:
        strike_for(run, "broker-stop", outage)
        while not run.is_done() and run.chronicle.now() < outage + 600:
            time.sleep(0.25)

    plan = stage.plan(("broker-stop",), count, outage, doors=("direct",))
    outcome = stage.run("under-faults", plan, act)
    back = max(mark.ended or 0.0 for mark in outcome.chronicle.marks)
    limit = round(1.5 * max(without, SHORTEST_SECONDS), 1)
    drained = round(outcome.faults_ended - back, 1)
    return [Bound(f"drained after {outage:.0f} s without a broker", drained, limit, "s")]


def n10(stage: Stage) -> list[Bound]:
    count = orders(stage, 200)
    ages: list[float] = []
    alarms: list[float] = []

    def act(run: Run) -> None:
        time.sleep(BEFORE_SECONDS)
        began, ended = run.chronicle.now(), threading.Event()
        watch = threading.Thread(target=_watch_sweeps, args=(run, began, ages, alarms, ended))
        watch.start()
        strike_for(run, "kill-beat", 60)
        ended.set()
        watch.join(10)

    plan = stage.plan(("kill-beat",), count, 75, rate=count / 60)
    stage.run("under-faults", plan, act)
    return [
        Bound("longest time between two sweeps", max(ages, default=None), 10.0, "s"),
        Bound("an operator was told", min(alarms, default=None), 30.0, "s"),
    ]


def _watch_sweeps(
    run: Run, began: float, ages: list[float], alarms: list[float], ended: threading.Event
) -> None:
    while not ended.wait(0.25):
        try:
            ages.append(round(float(run.observer.rows(SWEEP_AGE)[0][0]), 1))
            if not alarms and int(run.observer.rows(ALARM)[0][0]):
                alarms.append(round(run.chronicle.now() - began, 1))
        except Away:
            continue


SCENARIOS = (
    Scenario("n7", "orders by HTTP while the broker is down and hung", n7, 300,
             ("rabbitmq", "redis")),
    Scenario("n8", "the database is away for 30 s", n8, 240, ("postgresql",)),
    Scenario("n9", "the broker is away for 5 min while all orders come in", n9, 1000,
             ("rabbitmq", "redis")),
    Scenario("n10", "Beat is dead for a minute", n10, 200, ("postgresql",)),
)  # fmt: skip
