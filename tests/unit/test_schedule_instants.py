"""Instants of schedules: both nights of a change of clocks, intervals, what is refused."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from workers.definitions.instants import Timing
from workers.definitions.schedule import Schedule
from workers.exceptions import WorkflowError


def instants(cron, zone, begin, count):
    at = datetime.fromisoformat(begin).replace(tzinfo=ZoneInfo(zone))
    return [
        one.astimezone(ZoneInfo(zone)).strftime("%d %H:%M%z")
        for one in islice(Timing(cron, None, zone).after(at), count)
    ]


PARIS, YORK, HOWE = "Europe/Paris", "America/New_York", "Australia/Lord_Howe"


@pytest.mark.parametrize(
    ("cron", "zone", "begin", "expected"),
    [
        # The hour that is left out: the next instant that exists, once.
        ("30 2 * * *", PARIS, "2026-03-28 12:00", ["29 03:00+0200", "30 02:30+0200"]),
        ("15,45 2 * * *", PARIS, "2026-03-28 12:00", ["29 03:00+0200", "30 02:15+0200"]),
        ("0 2,3 * * *", PARIS, "2026-03-28 12:00", ["29 03:00+0200", "30 02:00+0200"]),
        ("30 2 * * *", YORK, "2026-03-07 12:00", ["08 03:00-0400", "09 02:30-0400"]),
        # Lord Howe leaves out half an hour.
        ("15 2 * * *", HOWE, "2026-10-03 12:00", ["04 02:30+1100", "05 02:15+1100"]),
        # The hour that comes twice: the first.
        ("30 2 * * *", PARIS, "2026-10-24 12:00", ["25 02:30+0200", "26 02:30+0100"]),
        ("30 1 * * *", YORK, "2026-10-31 12:00", ["01 01:30-0400", "02 01:30-0500"]),
        ("45 1 * * *", HOWE, "2026-04-04 12:00", ["05 01:45+1100", "06 01:45+1030"]),
        # What has * as minute or hour follows time itself.
        (
            *("*/30 * * * *", PARIS, "2026-10-25 01:45"),
            ["25 02:00+0200", "25 02:30+0200", "25 02:00+0100", "25 02:30+0100", "25 03:00+0100"],
        ),
        ("0 * * * *", PARIS, "2026-03-29 00:30", ["29 01:00+0100", "29 03:00+0200"]),
        ("0 0 29 2 *", "UTC", "2026-01-01 00:00", ["29 00:00+0000"]),
    ],
)
def test_instants_of_a_cron_line_in_a_time_zone(cron, zone, begin, expected):
    assert instants(cron, zone, begin, len(expected)) == expected


def test_instants_after_the_first_of_a_double_hour_do_not_go_back():
    second = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)  # 02:10 in Paris, the second time
    (after,) = islice(Timing("30 2 * * *", None, PARIS).after(second), 1)
    assert after == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("zone", [PARIS, YORK, HOWE])
def test_instants_of_a_year_only_rise_and_each_day_has_one(zone):
    timing = Timing("30 2 * * *", None, zone)
    year = list(islice(timing.after(datetime(2026, 1, 1, tzinfo=ZoneInfo(zone))), 365))
    assert year == sorted(set(year))
    assert len({at.astimezone(ZoneInfo(zone)).date() for at in year}) == 365


def test_intervals_are_counted_from_the_epoch_whenever_one_looks():
    timing = Timing("", timedelta(hours=6), PARIS)
    at = datetime(2026, 3, 1, 6, tzinfo=UTC)
    assert list(islice(timing.after(at), 2)) == [
        datetime(2026, 3, 1, 12, tzinfo=UTC),
        datetime(2026, 3, 1, 18, tzinfo=UTC),
    ]
    just_before = at - timedelta(microseconds=1)
    assert next(timing.after(just_before)) == at


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({}, "must have either cron or every"),
        ({"cron": "0 6 * * *", "every": timedelta(hours=1)}, "must have either cron or every"),
        ({"cron": "0 6 * *"}, "other than five fields"),
        ({"cron": "0 0 6 * * *"}, "other than five fields"),
        ({"cron": "61 6 * * *"}, "Bad minute"),
        ({"cron": "0 0 30 2 *"}, "Bad day-of-month"),
        ({"cron": 6}, "cron must be text"),
        (
            {"every": timedelta(seconds=1)},
            "every must be a timedelta of whole seconds from 0:00:10",
        ),
        ({"every": timedelta(seconds=10.5)}, "every must be a timedelta of whole seconds"),
        ({"every": 60}, "every must be a timedelta"),
        ({"cron": "0 6 * * *", "time_zone": "Europe/Nowhere"}, "time_zone must be the name"),
        ({"cron": "0 6 * * *", "time_zone": "../etc"}, "time_zone must be the name"),
        ({"cron": "0 6 * * *", "time_zone": "Europe"}, "time_zone must be the name"),
        ({"cron": "0 6 * * *", "time_zone": None}, "time_zone must be text"),
        ({"cron": "0 6 * * *", "overlap": "wait"}, "overlap must be one of skip, queue"),
        ({"cron": "0 6 * * *", "catch_up": -timedelta(1)}, "catch_up must be a timedelta"),
        ({"cron": "0 6 * * *", "jitter_seconds": -1}, "jitter_seconds must be a whole number"),
        ({"cron": "0 6 * * *", "input": 7}, "input must be a function"),
        ({"cron": "0 6 * * *", "input": lambda one, two: {}}, r"input must take 1 argument \(at\)"),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_declared(values, error):
    with pytest.raises(WorkflowError, match=error):
        Schedule("nightly", "renewal", **values)
