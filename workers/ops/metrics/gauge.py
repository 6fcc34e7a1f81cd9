"""A gauge from rows."""

from collections.abc import Iterable, Sequence
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric


def gauge(name: str, what: str, labels: Sequence[str], rows: Iterable[Sequence[Any]]) -> Metric:
    """Return a gauge; a row has the values of the labels, and the number behind them."""
    family = GaugeMetricFamily(name, what, labels=labels)
    for *values, number in rows:
        family.add_metric(list(map(str, values)), number)
    return family
