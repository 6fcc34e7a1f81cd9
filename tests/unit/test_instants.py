"""Instants as text are what ``isoformat`` says."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from workers.runtime.timestamps import text_of


@pytest.mark.parametrize("zone", [UTC, ZoneInfo("UTC"), timezone(timedelta(hours=-9, minutes=-30))])
@pytest.mark.parametrize("microsecond", [0, 1, 100_000, 123_456, 999_999])
@pytest.mark.parametrize("year", [1, 1970, 2026, 9999])
def test_an_instant_reads_as_isoformat_has_it(year, microsecond, zone):
    at = datetime(year, 12, 31, 23, 59, 0, microsecond, tzinfo=zone)

    assert text_of(at) == at.isoformat()
    assert datetime.fromisoformat(text_of(at)) == at
