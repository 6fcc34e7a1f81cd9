"""Percentiles of durations that were counted in logarithmic buckets.  Pure.

A bucket's upper bound is its lower one times ``RATIO``, and a percentile is the geometric mean of
both.  So it is at most ``ERROR`` (9.1 %) off the true duration, as long as that lies between the
first and the last bound (1 ms to about 70 minutes).
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from math import ceil, sqrt
from typing import TypeVar

LOWEST_SECONDS = 0.001
RATIO = 2**0.25
#: Bounds between buckets: the first bucket is below the first bound, the last above the last.
BOUNDS = tuple(LOWEST_SECONDS * RATIO**i for i in range(89))
#: How far a percentile may be off, as a share of it.
ERROR = sqrt(RATIO) - 1

_Key = TypeVar("_Key")
#: Number of durations by bucket; a missing bucket has none.
Buckets = Mapping[int, int]


def bucket_of(seconds: float) -> int:
    """Return the number of the bucket of a duration: how many bounds it reaches."""
    return bisect_right(BOUNDS, seconds)


def percentile(buckets: Buckets, share: float) -> float | None:
    """Return the duration that ``share`` (0 to 1) of all do not exceed; None: there is none."""
    total = sum(buckets.values())
    if not total:
        return None
    rank, passed = max(1, ceil(share * total)), 0
    for bucket in sorted(buckets):
        passed += buckets[bucket]
        if passed >= rank:
            return _middle(bucket)
    raise AssertionError("a bucket must not count below zero")


def _middle(bucket: int) -> float:
    if bucket <= 0:
        return BOUNDS[0]
    if bucket >= len(BOUNDS):
        return BOUNDS[-1]
    return sqrt(BOUNDS[bucket - 1] * BOUNDS[bucket])


def cumulated(buckets: Buckets) -> tuple[list[tuple[str, int]], float]:
    """Return how many durations each power of two of the lowest bound covers, and their sum.

    Bounds as texts of seconds; the last covers all.  The sum is at most ``ERROR`` off.
    """
    at_most = [
        (f"{BOUNDS[i]:g}", sum(count for bucket, count in buckets.items() if bucket <= i))
        for i in range(0, len(BOUNDS), 4)
    ]
    everything = ("+Inf", sum(buckets.values()))
    return [*at_most, everything], sum(_middle(b) * count for b, count in buckets.items())


def merged(many: Iterable[Mapping[_Key, int]]) -> dict[_Key, int]:
    """Return the sum of several counts, key by key."""
    total: dict[_Key, int] = {}
    for counts in many:
        for key, count in counts.items():
            total[key] = total.get(key, 0) + count
    return total
