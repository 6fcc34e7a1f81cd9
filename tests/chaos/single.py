"""A short run with one fault alone, as a test of a row of the fault matrix plays it."""

from collections.abc import Callable
from typing import Any

from tests.chaos.faults import CATALOGUE
from tests.chaos.run import LATE_ORDERS, Outcome, Run
from tests.chaos.stage import Stage
from tests.services import missing

ORDERS, RATE = 30, 3.0


def play(
    stage: Stage,
    fault: str,
    act: Callable[[Run], None],
    *,
    orders: int = ORDERS,
    rate: float = RATE,
    doors: tuple[str, ...] = ("http",),
    **settings: str,
) -> Outcome:
    """Play a run; ``act`` strikes.  Without what the fault needs the test is skipped."""
    if why := CATALOGUE[fault].why_not(stage.options.pair):
        missing(why)
    plan = stage.plan((fault,), orders, orders / rate, rate=rate, doors=doors, settings=settings)
    return stage.run(fault, plan, act)


def figures(outcome: Outcome) -> dict[str, Any]:
    """Return what came of a run, to be compared at once."""
    found, events = outcome.verdict, outcome.events
    return {
        "accepted": found.accepted,
        "lost": found.lost,
        "duplicate effects": found.duplicate_effects,
        "violations": found.violations,
        "failings": found.failings,
        "gaps": found.gaps,
        "attempts used up": events.get("expired", 0) + events.get("failed", 0),
    }


def nothing_wrong(*, orders: int = ORDERS, doors: int = 1) -> dict[str, Any]:
    """Return the figures of a run in which the fault cost time and nothing else."""
    return {
        "accepted": orders + LATE_ORDERS * doors,
        "lost": 0,
        "duplicate effects": 0,
        "violations": 0,
        "failings": [],
        "gaps": [],
        "attempts used up": 0,
    }


def count(run: Run, sql: str) -> int:
    """Return the number that the database answers with, past everything that hurts it."""
    return int(run.observer.rows(sql)[0][0])
