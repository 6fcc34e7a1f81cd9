"""Figures for Prometheus, read from rows that are kept anyway.

`/metrics` (``view``) and `manage.py sas metrics` print them.  This module does not load Prometheus'
library.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.core import Metric

Source = Callable[[], "Iterable[Metric]"]
#: What reads the figures of other apps, each time.
own_figures: list[Source] = []


def register_figures(read: Source) -> None:
    """Add figures of another app; one of a name that is there adds its samples to it.

    ``read`` must not scan whole tables: figures are read every few seconds.
    """
    own_figures.append(read)


def register_gauge(name: str, what: str, read: Callable[[], float]) -> None:
    """Add a figure of an application's own: its name, its meaning, and what reads it each time."""

    def figures() -> "Iterable[Metric]":
        from prometheus_client.core import GaugeMetricFamily

        return [GaugeMetricFamily(name, what, read())]

    register_figures(figures)
