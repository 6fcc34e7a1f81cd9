"""Results and durations of agents' calls, and events of their claims."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from workers.definitions import registry
from workers.desk.rules import latency
from workers.desk.rules.minutes import DEATHS, EVERY_PROCESS, RELEASED, RESENT, RESULTS, Figures

#: Events counted beside results, by their names in the figures: each is a counter of its own.
_EVENTS = {
    RESENT: ("sas_claims_resent", "Always 0: no claim waits for a message"),
    RELEASED: ("sas_claims_released", "Claims given back by workers that ended"),
    DEATHS: ("sas_worker_deaths", "Calls over which a worker's child process died"),
}


def read(figures: Iterable[Figures]) -> Iterable[Metric]:
    # A counter begins at 0: one that appears with 50 has not risen, for Prometheus.
    known = {agent.name: Figures(agent.name) for agent in registry.agents()}
    counted = {row.agent: row for row in figures if row.agent != EVERY_PROCESS}
    by_agent = [row for _agent, row in sorted((known | counted).items())]
    results = CounterMetricFamily(
        "sas_calls", "Calls by what became of them", labels=["agent", "outcome"]
    )
    durations = HistogramMetricFamily(
        "sas_call_seconds", "Time from a call's start to its reply", labels=["agent"]
    )
    waits = HistogramMetricFamily(
        "sas_claim_wait_seconds", "Time from a claim to its start", labels=["agent"]
    )
    for row in by_agent:
        for outcome, count in (dict.fromkeys(RESULTS, 0) | dict(row.counts)).items():
            results.add_metric([row.agent, outcome], count)
        for family, buckets in ((durations, row.calls), (waits, row.waits)):
            bounds, total = latency.cumulated(buckets)
            family.add_metric([row.agent], bounds, total)
    yield from (results, durations, waits)
    for event, (name, what) in _EVENTS.items():
        counter = CounterMetricFamily(name, what, labels=["agent"])
        for row in by_agent:
            counter.add_metric([row.agent], row.events.get(event, 0))
        yield counter
