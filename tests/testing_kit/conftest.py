"""Fixtures of the test kit's own tests."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from workers.supervisor import beat_schedule
from workers.testing import Clock, frozen_clock

#: The instant at which the clock of every test stands still.
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def flow_rows(db: None) -> None:
    """Give every agent its window, as `migrate` would."""
    beat_schedule.ensure_flow()


@pytest.fixture
def clock() -> Iterator[Clock]:
    with frozen_clock(NOON) as clock:
        yield clock
