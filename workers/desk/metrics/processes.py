"""Events of processes."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, Metric

from workers.definitions import registry
from workers.desk.rules.minutes import EVERY_PROCESS, PROCESS_EVENTS, Figures, read_event


def read(figures: Iterable[Figures]) -> Iterable[Metric]:
    events = CounterMetricFamily(
        "sas_processes", "Processes by what happened to them", labels=["workflow", "event"]
    )
    counts = {
        read_event(name): count
        for row in figures
        if row.agent == EVERY_PROCESS
        for name, count in row.events.items()
    }
    names = {workflow for _event, workflow in counts} | {w.name for w in registry.workflows()}
    # A counter begins at 0: one that appears with 50 has not risen, for Prometheus.
    for workflow in sorted(names):
        for event in PROCESS_EVENTS:
            events.add_metric([workflow, event], counts.get((event, workflow), 0))
    yield events
