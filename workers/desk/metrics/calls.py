"""What became of agents' calls, how long they took, and what their claims met."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from workers.desk.rules import latency
from workers.desk.rules.minutes import DEATHS, EVERY_PROCESS, RELEASED, RESENT, Figures

#: What is counted beside results, by its name in the figures: each is a counter of its own.
_EVENTS = {
    RESENT: ("sas_claims_resent", "Claims whose message was sent again"),
    RELEASED: ("sas_claims_released", "Claims given back by workers that ended"),
    DEATHS: ("sas_worker_deaths", "Calls over which a worker's child process died"),
}


def read(figures: Iterable[Figures]) -> Iterable[Metric]:
    by_agent = [one for one in figures if one.agent != EVERY_PROCESS]
    results = CounterMetricFamily(
        "sas_calls", "Calls by what became of them", labels=["agent", "outcome"]
    )
    took = HistogramMetricFamily(
        "sas_call_seconds", "Time from a call's start to its reply", labels=["agent"]
    )
    waited = HistogramMetricFamily(
        "sas_claim_wait_seconds", "Time from a claim to its start", labels=["agent"]
    )
    for one in by_agent:
        for outcome, count in sorted(one.counts.items()):
            results.add_metric([one.agent, outcome], count)
        for family, buckets in ((took, one.calls), (waited, one.waits)):
            if buckets:
                bounds, total = latency.cumulated(buckets)
                family.add_metric([one.agent], bounds, total)
    yield from (results, took, waited)
    for event, (name, what) in _EVENTS.items():
        counted = CounterMetricFamily(name, what, labels=["agent"])
        for one in by_agent:
            counted.add_metric([one.agent], one.events.get(event, 0))
        yield counted
