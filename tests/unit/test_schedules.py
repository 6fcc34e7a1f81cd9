"""Which instants of a schedule fire now: lateness, overlap, jitter, one that is left out."""

from datetime import UTC, datetime, timedelta

import pytest

from workers.definitions.schedule import Schedule
from workers.rules import schedules

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)


def hourly(overlap="skip", catch_up=7 * HOUR, **more):
    return Schedule("s", "w", cron="0 * * * *", overlap=overlap, catch_up=catch_up, **more)


def turn(schedule, at, *, is_running=False, **more):
    return schedules.turn(schedule, NINE, at, is_running=is_running, **more)


def hours(instants):
    return [at.hour for at in instants]


def test_nothing_fires_before_its_instant():
    result = turn(hourly(), NINE - timedelta(seconds=1))
    assert (result.fires, result.next_at, result.due_at) == ([], NINE, NINE)


@pytest.mark.parametrize("overlap", ["skip", "queue", "both", "replace"])
def test_instant_fires_when_it_comes(overlap):
    result = turn(hourly(overlap), NINE)
    assert (result.fires, result.missed, result.skipped) == ([NINE], [], 0)
    assert result.next_at == NINE + HOUR


@pytest.mark.parametrize(
    ("overlap", "fires", "skipped", "next_hour"),
    [("skip", [], 1, 10), ("queue", [], 0, 9), ("both", [9], 0, 10), ("replace", [9], 0, 10)],
)
def test_process_before_decides_what_becomes_of_an_instant(overlap, fires, skipped, next_hour):
    result = turn(hourly(overlap), NINE, is_running=True)
    assert (hours(result.fires), result.skipped) == (fires, skipped)
    assert result.next_at.hour == next_hour


@pytest.mark.parametrize(
    ("catch_up", "missed", "fires"),
    [
        (timedelta(), [9, 10, 11, 12, 13, 14, 15], []),
        (HOUR, [9, 10, 11, 12, 13, 14], [15]),
        (7 * HOUR, [], [9, 10, 11, 12, 13, 14, 15]),
    ],
)
def test_after_seven_hours_what_is_within_catch_up_fires_late(catch_up, missed, fires):
    at = NINE + timedelta(hours=6, minutes=59)
    result = turn(hourly("both", catch_up), at)
    assert (hours(result.missed), hours(result.fires)) == (missed, fires)
    assert result.next_at == NINE + 7 * HOUR


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_missed_instants_wait_for_one_another(overlap):
    at = NINE + timedelta(hours=2, minutes=30)
    first = turn(hourly(overlap), at)
    assert (hours(first.fires), first.next_at.hour, first.skipped) == ([9], 10, 0)
    assert first.due_at == at + schedules.WAIT

    waits = schedules.turn(hourly(overlap), first.next_at, at + schedules.WAIT, is_running=True)
    assert (waits.fires, waits.next_at.hour, waits.skipped) == ([], 10, 0)


def test_newest_replaces_those_before_it():
    result = turn(hourly("replace"), NINE + timedelta(hours=2, minutes=30))
    assert (hours(result.fires), result.skipped, result.next_at.hour) == ([11], 2, 12)


def test_portion_is_bounded_and_goes_on():
    at = NINE + timedelta(days=30)
    fired = turn(hourly("both", timedelta(days=31)), at)
    assert (len(fired.fires), fired.next_at) == (20, NINE + 20 * HOUR)
    assert fired.due_at <= at
    minutely = Schedule("s", "w", cron="* * * * *", catch_up=timedelta())
    missed = turn(minutely, at)
    assert (len(missed.missed), missed.next_at) == (1000, NINE + timedelta(minutes=1000))


def test_instant_that_is_left_out_neither_fires_nor_counts():
    result = turn(hourly(), NINE, skip_at=NINE)
    assert (result.fires, result.missed, result.skipped, result.next_at) == ([], [], 0, NINE + HOUR)


def test_jitter_is_the_same_whenever_one_looks_and_spreads_schedules():
    one = hourly(jitter_seconds=600)
    wait = schedules.jitter(one, NINE)
    assert timedelta() <= wait <= timedelta(seconds=600)
    assert turn(one, NINE + wait - timedelta(seconds=1)).due_at == NINE + wait
    assert turn(one, NINE + wait).fires == [NINE]
    spread = {
        schedules.jitter(Schedule(f"s{n}", "w", cron="0 * * * *", jitter_seconds=600), NINE)
        for n in range(100)
    }
    assert len(spread) > 60
    assert schedules.jitter(hourly(), NINE) == timedelta()
