"""Ours beside what people would use instead, in each of the ways in which orders come."""

from typing import Any

from benchmarks import contenders
from benchmarks.bench import Bench
from benchmarks.cases.interleaved import last, measured, together
from benchmarks.regimes.service import SECONDS

SPREAD = ("p50", "p95", "p99")
#: How many submit at once.
SUBMITTERS = (1, 8)
#: Orders a second.
LOADS = (5, 20, 100)
#: What a call of the remote service takes, in milliseconds.
CALL_MS = (5, 50)


def filled(bench: Bench) -> dict[str, Any]:
    ours = bench.options.size(6000, 2000)
    found = measured(bench, "filled", contenders.FILLED, lambda one: (one.orders(ours),))
    rounds = found.pop("rounds")
    return {
        **found,
        "memory_mb": {name: last(rounds, name, "memory_mb") for name in rounds[0]},
        "cpu_ms_per_order": last(rounds, "ours", "cpu_ms_per_order"),
    }


def sustained(bench: Bench) -> dict[str, Any]:
    orders = bench.options.size(1500, 500)
    return together(
        "sustained",
        {
            str(submitters): measured(
                bench, f"sustained_{submitters}", contenders.SUSTAINED,
                lambda one, submitters=submitters: (orders, submitters), regime="sustained",
            )
            for submitters in SUBMITTERS
        },
    )  # fmt: skip


def steady(bench: Bench) -> dict[str, Any]:
    seconds = 8 if bench.options.is_quick else 20
    return together(
        "steady",
        {
            str(load): measured(
                bench, f"steady_{load}", contenders.STEADY,
                lambda one, load=load: (max(60, load * seconds), load),
                keys=SPREAD, regime="steady",
            )
            for load in LOADS
        },
    )  # fmt: skip


def latency(bench: Bench) -> dict[str, Any]:
    orders = min(bench.options.orders or 1000, 50 if bench.options.is_quick else 200)
    found = measured(
        bench, "latency", contenders.IDLE, lambda one: (orders,), keys=SPREAD, regime="idle"
    )
    found.pop("rounds")
    return found


def http(bench: Bench) -> dict[str, Any]:
    """Measure agents that call a service."""
    ours = bench.options.size(1000, 400)
    return together(
        "http",
        {
            str(ms): measured(
                bench, f"http_{ms}", contenders.HTTP, lambda one: (ours,), regime="filled",
                variables={SECONDS: str(ms / 1000), "BENCH_WORKFLOW": "bench_remote"},
            )
            for ms in CALL_MS
        },
    )  # fmt: skip


def redis(bench: Bench) -> dict[str, Any]:
    """Measure those who use a broker on Redis."""
    ours = bench.options.size(4000, 1000)
    found = measured(
        bench, "redis", contenders.REDIS, lambda one: (one.orders(ours),), regime="filled",
        broker="redis",
    )  # fmt: skip
    found.pop("rounds")
    return found
