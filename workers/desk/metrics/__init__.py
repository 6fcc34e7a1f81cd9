"""The desk's figures for Prometheus: what it keeps by the minute, incidents, routes and probes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.core import Metric


def read() -> "Iterable[Metric]":
    """Yield all of them; loads Prometheus' library, which is an extra."""
    from workers.desk.metrics import calls, levels, processes
    from workers.desk.store import totals

    figures = totals.until_now()
    yield from processes.read(figures)
    yield from calls.read(figures)
    yield from levels.read()
