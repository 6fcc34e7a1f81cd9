"""The page on schedules: its code is run, and its night falls once."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from workers.definitions import registry
from workers.models import Process, Schedule
from workers.supervisor import beat_schedule
from workers.testing import frozen_clock

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "run-on-a-schedule.md"


@pytest.fixture
def page(db, monkeypatch) -> dict[str, Any]:
    monkeypatch.setattr(registry, "_workflows", dict(registry._workflows))
    monkeypatch.setattr(registry, "_schedules", {})
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(block.replace("renewals.renew", "toy.alpha"), names)
    beat_schedule.ensure_flow()
    return names


def test_nightly_run_falls_once_in_the_night_that_has_the_hour_twice(page, wire):
    with frozen_clock(datetime(2026, 10, 24, 20, tzinfo=UTC)) as clock:
        wire.run_for(clock, hours=12)
    process = Process.objects.get()
    assert (process.state, process.input) == ("processed", {"day": "2026-10-25"})


def test_customer_has_a_schedule_until_they_leave(page):
    page["subscribe"](7)
    page["subscribe"](7)
    assert Schedule.objects.get().input == {"customer": 7}
    page["leave"](7)
    page["leave"](7)
    assert not Schedule.objects.exists()
