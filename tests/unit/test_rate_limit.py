"""The token bucket by which calls of an agent are counted."""

from datetime import UTC, datetime, timedelta

import pytest

from workers.rules.rate_limit import Bucket

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rate", "at_once", "most"),
    [
        (0.2, 1, 1),
        (1, 1, 1),
        (1.5, 1, 2),
        (2, 1, 2),
        (3, 1, 3),
        (10, 1, 10),
        (20, 1, 20),
        (50, 3, 50),
        (100, 5, 100),
    ],
)
@pytest.mark.parametrize("saves_up", [False, True], ids=["at once", "in bursts"])
def test_in_no_second_are_more_calls_than_the_rate(rate, at_once, most, saves_up):
    bucket, calls = Bucket(rate, Bucket(rate).at_once, NOW), []
    for step in range(20_000):
        bucket = bucket.refilled(NOW + timedelta(milliseconds=step))
        # Now and then nothing is called for a while, and then all that there is.
        if saves_up and step // 700 % 2 and bucket.tokens < bucket.at_once:
            continue
        calls += [step] * bucket.room
        bucket = bucket.spent(bucket.room)

    assert calls.count(0) == at_once
    assert max(sum(begin <= one <= begin + 1000 for one in calls) for begin in set(calls)) <= most
    if not saves_up:
        assert len(calls) >= int(rate * 20 * 0.93)


def test_more_calls_than_tokens_are_waited_for():
    bucket = Bucket(2).refilled(NOW).spent(3)

    assert bucket.room == 0
    assert bucket.seconds_to_next() == pytest.approx((1 + 1.92) / 1.9)


def test_a_full_bucket_waits_for_nothing():
    bucket = Bucket(1000, Bucket(1000).at_once, NOW)

    assert bucket.seconds_to_next() == 0
    # Half of the 41 that it may hold: looking for each one would lose tokens, or cost as much.
    assert bucket.spent(41).seconds_to_next() == pytest.approx(20.5 / 950)


def test_a_clock_that_was_set_back_brings_nothing():
    bucket = Bucket(2).refilled(NOW).spent(1)

    assert bucket.refilled(NOW - timedelta(hours=1)).tokens == bucket.tokens


def test_a_bucket_is_known_by_when_it_is_full():
    spent = Bucket(2, Bucket(2).at_once, NOW).spent(1)
    again = Bucket.full_in(2, spent.seconds_to_full(), NOW)
    assert again.tokens == pytest.approx(spent.tokens)
    assert Bucket.full_in(2, -5, NOW).tokens == Bucket(2).at_once
    assert Bucket(2, Bucket(2).at_once, NOW).seconds_to_full() == 0
