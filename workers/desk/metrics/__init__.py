"""Figures for Prometheus: what is kept anyway, in its text format.

`/metrics` (``view``) and `manage.py sas metrics` print them.  Nothing here loads its library.
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
    """Add a figure of an application's own: its name, what it says, what reads it each time.

    ``read`` must not go through whole tables: figures are asked for every few seconds.
    """
    own_gauges.append(OwnGauge(name, what, read))
