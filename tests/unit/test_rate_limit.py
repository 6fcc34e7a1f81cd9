"""The token bucket by which calls of an agent are counted."""

from datetime import UTC, datetime, timedelta

import pytest

from workers.rules.rate_limit import LOOK_AGAIN_SECONDS, Bucket

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rate", "at_once", "most"),
    [(0.2, 1, 1), (1, 1, 2), (2, 1, 3), (3, 2, 5), (4, 2, 6), (10, 5, 15), (50, 25, 75)],
)
def test_in_no_second_are_more_calls_than_the_bucket_and_what_runs_in(
    rate: float, at_once: int, most: int
) -> None:
    # After a rest: nothing more runs in.
    bucket, calls = Bucket(rate, Bucket(rate).size, NOW), []
    for step in range(5000):
        at = NOW + timedelta(milliseconds=step)
        bucket = bucket.refilled(at)
        calls += [step] * bucket.room
        bucket = bucket.spent(bucket.room)

    assert calls.count(0) == at_once
    assert max(sum(begin <= one <= begin + 1000 for one in calls) for begin in calls) == most
    # All of the rate is used.
    assert len(calls) >= int(rate * 5)


def test_the_way_of_a_claim_to_its_start_costs_nothing_of_the_rate() -> None:
    bucket, calls, waiting = Bucket(2), 0, []
    for step in range(100_000):
        at = NOW + timedelta(milliseconds=step)
        bucket = bucket.refilled(at)
        if bucket.room:
            bucket = bucket.reserved(1)
            waiting.append(step + 200)
        if waiting and waiting[0] == step:
            waiting.pop(0)
            bucket = Bucket(2, bucket.tokens - 1, bucket.at, bucket.unstarted - 1)
            calls += 1

    assert 195 <= calls <= 201


def test_what_is_claimed_and_not_started_keeps_its_token() -> None:
    bucket = Bucket(4).refilled(NOW)
    assert bucket.room == 2

    held = bucket.reserved(2)

    assert held.room == 0
    assert held.refilled(NOW + timedelta(hours=1)).room == 0


def test_more_calls_than_tokens_are_waited_for() -> None:
    bucket = Bucket(2).refilled(NOW).spent(3)

    assert bucket.room == 0
    assert bucket.seconds_to_next() == pytest.approx((1 + 2) / 2)


def test_where_time_brings_no_token_it_is_looked_again_a_little_later() -> None:
    bucket = Bucket(1000, Bucket(1000).size, NOW)

    assert bucket.reserved(500).seconds_to_next() == LOOK_AGAIN_SECONDS
    assert bucket.spent(500).seconds_to_next() == pytest.approx(0.0005)
    assert bucket.seconds_to_next() == 0


def test_a_clock_that_was_set_back_brings_nothing() -> None:
    bucket = Bucket(2).refilled(NOW).spent(1)

    assert bucket.refilled(NOW - timedelta(hours=1)).tokens == bucket.tokens
