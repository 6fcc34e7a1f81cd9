"""All figures together, and their text."""

from collections.abc import Callable, Iterable

from django.db import connections
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from workers.ops.metrics import levels, own_figures


class Figures(Collector):
    """Reads all figures from the database on each collection."""

    def collect(self) -> Iterable[Metric]:
        figures: dict[str, Metric] = {}
        for read in (levels.read, *own_figures):
            for figure in read():
                # Apps may add samples to one figure, which has to appear once.
                if figure.name in figures:
                    figures[figure.name].samples += figure.samples
                else:
                    figures[figure.name] = figure
        return figures.values()

    def describe(self) -> Iterable[Metric]:
        # Called at registration, where no database may be touched.
        return ()


class _ThreadFigures(Figures):
    """The same for a server's threads, each of which closes its connections."""

    def collect(self) -> Iterable[Metric]:
        try:
            # Complete before anything is sent: half of the figures would pass for all.
            return list(super().collect())
        finally:
            connections.close_all()


def exposition() -> bytes:
    """Return all figures in Prometheus' text format.  Raises ``AWAY`` if the database is down."""
    return generate_latest(_registry(Figures()))


def serve(port: int, address: str) -> Callable[[], None]:
    """Serve the figures in threads; return a function that stops it.

    Raises ``OSError`` for a port in use.
    """
    server, thread = start_http_server(port, address, _registry(_ThreadFigures()))

    def stop() -> None:
        server.shutdown()
        thread.join()

    return stop


def _registry(figures: Collector) -> CollectorRegistry:
    """Return a registry of these figures only, without those of this process."""
    registry = CollectorRegistry()
    registry.register(figures)
    return registry
