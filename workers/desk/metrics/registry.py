"""All figures together, and their text."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from workers.desk.metrics import calls, levels, own_gauges, processes


class Figures(Collector):
    """Reads all figures from the database when it is asked."""

    def collect(self) -> Iterable[Metric]:
        yield from processes.read()
        yield from calls.read()
        yield from levels.read()
        for own in own_gauges:
            yield GaugeMetricFamily(own.name, own.what, own.read())

    def describe(self) -> Iterable[Metric]:
        # Asked as it is registered: no database then.
        return ()


def collector_registry(figures: Collector | None = None) -> CollectorRegistry:
    """Return a registry of these figures and no others, such as this process's own."""
    registry = CollectorRegistry()
    registry.register(figures or Figures())
    return registry


def exposition() -> bytes:
    """Return all figures in Prometheus' text format.  Raises what a database that is away does."""
    return generate_latest(collector_registry())
