"""Schedules: each instant begins one process, whenever the poll dies over it."""

from datetime import timedelta
from unittest.mock import patch

from tests.crashes.scenario import Scenario
from workers import Schedule, schedule
from workers.client import schedules
from workers.exceptions import StateError
from workers.models import Process
from workers.models import Schedule as Row
from workers.rules import schedules as rules
from workers.testing import Aftermath, Clock, Wire

BY = {"actor": "operator:ann", "reason": "because"}
NIGHTLY = Schedule(
    "nightly", "toy_line", every=timedelta(hours=1), overlap="both", catch_up=timedelta(hours=6)
)
BROKEN = Schedule("broken", "nowhere", every=timedelta(hours=1), catch_up=timedelta(hours=6))


def _make() -> None:
    schedule(NIGHTLY)


def _make_two(wire: Wire) -> None:
    schedule(NIGHTLY)
    with patch.object(schedules, "texts", lambda wanted: {}):
        schedule(BROKEN)


def _run(wire: Wire, clock: Clock) -> None:
    wire.run_for(clock, hours=3)
    wire.run_until_settled(clock)


def _one_each(after: Aftermath) -> None:
    """An instant for each hour that passed, whoever died: no gap, and none twice."""
    row = Row.objects.get(name="nightly")
    keys = list(Process.objects.order_by("id").values_list("submission_key", flat=True))
    assert len(keys) == len(set(keys)) >= 3
    assert row.missed == row.skipped == 0
    passed = [row.next_at - timedelta(hours=hours) for hours in range(len(keys), 0, -1)]
    assert keys == [rules.key("nightly", at) for at in passed]
    assert {process.state for process in Process.objects.all()} == {"processed"}


def _pause() -> None:
    try:
        schedules.pause("nightly", **BY)
    except StateError:
        assert Row.objects.get(name="nightly").paused_at


def _paused(after: Aftermath) -> None:
    assert Row.objects.get(name="nightly").paused_at is not None
    after.assert_same_journal()


SCENARIOS = [
    Scenario(
        "fire a schedule",
        _make,
        _one_each,
        run=_run,
        brief=("schedules.write", "schedules.fire", "submission.submit"),
    ),
    Scenario(
        "fire beside one that cannot",
        lambda: None,
        _one_each,
        prepare=_make_two,
        run=_run,
        brief=("schedules.fail",),
    ),
    Scenario(
        "pause a schedule",
        _pause,
        _paused,
        prepare=lambda wire: _make(),
        run=lambda wire, clock: None,
        brief=("schedules.steer",),
    ),
]
