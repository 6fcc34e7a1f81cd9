"""Figures for Prometheus, read from rows that are kept anyway.

`/metrics` (``view``) and `manage.py sas metrics` print them.  This module does not load Prometheus'
library.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnGauge:
    """A figure of an application's own."""

    name: str
    what: str
    read: Callable[[], float]


own_gauges: list[OwnGauge] = []


def register_gauge(name: str, what: str, read: Callable[[], float]) -> None:
    """Add a figure of an application's own: its name, its meaning, and what reads it each time.

    ``read`` must not scan whole tables: figures are read every few seconds.
    """
    own_gauges.append(OwnGauge(name, what, read))
