"""Percentiles from buckets are as near the true ones as the rule says, whatever is measured."""

from bisect import insort
from collections import Counter
from math import ceil
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.desk.rules import latency

SHARES = (0.5, 0.95, 0.99)


def buckets(durations: list[float]) -> dict[int, int]:
    return dict(Counter(map(latency.bucket_of, durations)))


def exact(durations: list[float], share: float) -> float:
    """Return the smallest duration that this share of all do not exceed."""
    ordered: list[float] = []
    for duration in durations:
        insort(ordered, duration)
    return ordered[max(1, ceil(share * len(ordered))) - 1]


def off_by(durations: list[float], share: float) -> float:
    told = latency.percentile(buckets(durations), share)
    assert told is not None
    true = exact(durations, share)
    return max(told / true, true / told) - 1


def test_the_error_is_what_the_page_says():
    assert pytest.approx(0.0905, abs=0.0001) == latency.ERROR
    assert pytest.approx(4194.3, abs=0.1) == latency.BOUNDS[-1]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(
    "durations",
    [
        [0.25] * 1000,
        [place / 1000 for place in range(1, 10_001)],
        [Random(7).lognormvariate(-2, 1.3) for _ in range(5000)],
        [0.02] * 980 + [30.0] * 20,
        [0.001, 4000.0],
    ],
    ids=["one value", "even", "log normal", "two humps", "both ends"],
)
def test_known_distributions(durations, share):
    assert off_by(durations, share) <= latency.ERROR + 1e-9


@given(
    st.lists(st.floats(0.001, latency.BOUNDS[-1] * 0.999), min_size=1, max_size=60),
    st.sampled_from(SHARES),
)
def test_no_distribution_is_further_off(durations: list[float], share: float) -> None:
    assert off_by(durations, share) <= latency.ERROR + 1e-9


def test_what_lies_beyond_the_bounds_is_told_as_the_bound():
    assert latency.percentile(buckets([-1.0, 0.0, 0.0001]), 0.5) == 0.001
    assert latency.percentile(buckets([90_000.0]), 0.5) == latency.BOUNDS[-1]


def test_nothing_measured_has_no_percentile():
    assert latency.percentile({}, 0.5) is None


def test_minutes_together_are_as_if_measured_together():
    first, second = [0.1, 0.2, 5.0], [0.2, 60.0]
    assert latency.merged([buckets(first), buckets(second)]) == buckets(first + second)
