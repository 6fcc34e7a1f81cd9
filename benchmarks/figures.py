"""Medians, percentiles, and ratios taken inside each round."""

import statistics
from collections.abc import Iterable, Mapping, Sequence


def median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least so many percent of ``values`` do not exceed."""
    ordered = sorted(values)
    place = max(1, -(-len(ordered) * percent // 100))
    return ordered[int(place) - 1]


def spread(milliseconds: Sequence[float]) -> dict[str, float]:
    return {f"p{percent}": percentile(milliseconds, percent) for percent in (50, 95, 99)}


def ratio(rounds: Sequence[Mapping[str, float | None]], over: str, under: str) -> float | None:
    """Return the median of ``over`` / ``under`` of each round that has both.

    What disturbs a round disturbs both sides of its ratio; medians of different rounds would
    not share that.
    """
    found = []
    for one in rounds:
        above, below = one.get(over), one.get(under)
        if above is not None and below:
            found.append(above / below)
    return median(found)


def rounded(value: float | None) -> float | None:
    """Return three significant digits: more would pretend to a precision nobody measured."""
    return None if value is None else float(f"{value:.3g}") if abs(value) < 1000 else round(value)


def at_once(ends: Iterable[float], seconds: float) -> int:
    """Return how many calls went on at once, at most, that took so long and ended then."""
    changes = sorted(change for end in ends for change in ((end - seconds, 1), (end, -1)))
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
