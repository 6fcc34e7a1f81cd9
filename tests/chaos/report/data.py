"""Everything a report says, as plain data."""

from dataclasses import asdict
from typing import Any

from tests.chaos.faults import CATALOGUE
from tests.chaos.run import Outcome
from tests.chaos.scenarios.bound import Bound


def collect(
    title: str, outcome: Outcome, bounds: list[Bound], failings: list[str]
) -> dict[str, Any]:
    """Return the data of one run; times are seconds since it began."""
    chronicle, plan = outcome.chronicle, outcome.plan
    took = sorted(order.took for order in outcome.register.orders())
    end = max([chronicle.samples[-1].at if chronicle.samples else 0.0, outcome.faults_ended])
    return {
        "title": title,
        "seed": plan.seed,
        "pair": plan.pair,
        "doors": list(plan.doors),
        "seconds": round(end, 1),
        "faults_ended": round(outcome.faults_ended, 1),
        "at_rest": outcome.at_rest and round(outcome.at_rest, 1),
        "verdict": {**outcome.verdict.as_json(), "failings": failings},
        "holds": not failings and not outcome.verdict.gaps,
        "bounds": [{**asdict(bound), "holds": bound.holds, "says": str(bound)} for bound in bounds],
        "faults": {fault.name: CATALOGUE[fault.name].says for fault in plan.faults},
        "events": outcome.events,
        "repeated_calls": outcome.repeated_calls,
        "slowest_acceptance": took[-1] if took else None,
        "marks": [asdict(mark) for mark in chronicle.marks],
        "lanes": chronicle.lanes,
        "samples": [asdict(sample) for sample in chronicle.samples],
    }
