"""Events of processes, and how many are open."""

from collections.abc import Iterable

from django.db.models import Count, Q
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from workers.definitions import registry
from workers.desk.rules.minutes import EVERY_PROCESS, PROCESS_EVENTS, Figures, read_event
from workers.models import Process
from workers.states import OPEN_PROCESS_STATES, ProcessState


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

    open_now = GaugeMetricFamily(
        "sas_processes_open", "Processes that are not over", labels=["workflow", "state"]
    )
    # One query for each partial index: with all states in one, PostgreSQL reads the whole table.
    for states in (Q(state__in=sorted(OPEN_PROCESS_STATES)), Q(state=ProcessState.ERROR)):
        rows = Process.objects.filter(states).order_by().values_list("workflow", "state")
        for workflow, state, count in sorted(rows.annotate(count=Count("pk"))):
            open_now.add_metric([workflow, state], count)
    yield open_now
