"""What is submitted in a run, and what must be true of it afterwards."""

from collections.abc import Sequence
from typing import Any

from tests.shape import ledger
from tests.shape.app import agents, workflows
from tests.shape.ledger import Call
from workers import submit
from workers.client import schedules
from workers.models import Child, ChildGroup, LiveStep, Process
from workers.ops import invariants

STUDIOS = 2
#: A call begins up to so much after its token was spent.
LATE_SECONDS = 0.3


def season(number: int) -> None:
    """Submit a list of films, each a list of files, for one of two studios."""
    submit(
        "shape_season",
        subject=f"season {number}",
        input={"season": number, "studio": number % STUDIOS},
        attributes={"studio": number % STUDIOS},
    )


def end() -> None:
    """Begin no more; what has begun goes on."""
    schedules.pause("nightly", actor="operator:ann", reason="the run is over")


def open_processes() -> int:
    return Process.objects.filter(finished_at=None).count()


def counts(calls: Sequence[Call]) -> dict[str, Any]:
    """Return how much there was, and how near the keys of the studios came to their limits."""
    renders = [call for call in calls if call.agent == "shape.render"]
    return {
        "processes": Process.objects.count(),
        "children": Child.objects.count(),
        "calls": len(calls),
        "at_once": sorted(ledger.at_once(renders).values()),
        "a_second": sorted(ledger.a_second(renders, 0).values()),
    }


def failings(calls: Sequence[Call]) -> list[str]:
    """Return everything that must not be."""
    nightly = Process.objects.filter(workflow="shape_nightly")
    renewals = Process.objects.filter(workflow="shape_renewal")
    months = [process.input["month"] for process in nightly]
    wanted = {f"{month}/{customer}" for month in months for customer in range(workflows.CUSTOMERS)}
    files = [
        f"{number}/{film}/{file}"
        for number in {p.input["season"] for p in Process.objects.filter(workflow="shape_season")}
        for film in range(workflows.FILMS)
        for file in range(workflows.FILES)
    ]
    spans = [
        (process.exclusive or "", process.started_at.timestamp(), process.finished_at.timestamp())
        for process in renewals
        if process.started_at and process.finished_at
    ]
    windows = {"shape.charge": 1, "shape.render": agents.WINDOW}
    found = [
        f"{process.subject} is {process.state}"
        for process in Process.objects.exclude(state="processed")
    ]
    found += [str(violation) for violation in invariants.violations()]
    found += ledger.over(ledger.at_once(calls), windows, "at once")
    rates = {"shape.render": agents.RATE}
    found += ledger.over(ledger.a_second(calls, LATE_SECONDS), rates, "in a second")
    found += ledger.doubled(calls)
    found += ledger.missing(calls, "shape.charge", wanted)
    found += ledger.missing(calls, "shape.render", files)
    found += ledger.overlapping(spans)
    if renewals.count() != len(wanted):
        found.append(f"{renewals.count()} renewals of {len(wanted)}")
    if len(set(months)) != len(months):
        found.append("an instant of the schedule fired twice")
    if LiveStep.objects.exists():
        found.append(f"{LiveStep.objects.count()} steps are left in the index")
    if ChildGroup.objects.filter(is_flagged=True).exists():
        found.append("a group is still flagged")
    return found
