"""Delays between attempts."""

from random import Random

import pytest

from workers.rules.backoff import Backoff, is_exhausted


@pytest.mark.parametrize(
    ("tries", "ceiling"), [(1, 2), (2, 4), (3, 8), (8, 256), (9, 300), (10_000, 300)]
)
def test_the_ceiling_doubles_up_to_the_cap(tries, ceiling):
    assert Backoff(2, 300).ceiling(tries) == ceiling


def test_the_delay_is_spread_over_the_whole_range():
    rng = Random(7)

    delays = [Backoff(2, 300).seconds(4, rng) for _ in range(1000)]

    assert min(delays) < 1
    assert 15 < max(delays) <= 16
    assert 7 < sum(delays) / 1000 < 9


@pytest.mark.parametrize(("failures", "exhausted"), [(0, False), (2, False), (3, True), (4, True)])
def test_the_threshold_is_the_number_of_attempts(failures, exhausted):
    assert is_exhausted(failures, 3) is exhausted
