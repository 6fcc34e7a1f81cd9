"""Ours beside what people would use instead."""

from typing import Any

from benchmarks import figures, shape
from benchmarks.bench import Bench, Found, medians, rounded_all
from benchmarks.cases.ours import rates
from benchmarks.contenders import CONTENDERS, PEERS

SPREAD = ("p50", "p95", "p99")


def throughput(bench: Bench) -> dict[str, Any]:
    """Interleave everybody; a ratio is of one round."""
    ours = bench.options.size(6000, 2000)
    rounds = bench.rounds(
        "throughput",
        {name: ["throughput", str(one.orders(ours))] for name, one in CONTENDERS.items()},
    )
    return {
        "throughput": _rates(rounds),
        "memory_mb": {name: _last(rounds, name, "memory_mb") for name in rounds[0]},
        "cpu_ms_per_order": _last(rounds, "ours", "cpu_ms_per_order"),
        "ratios": _ratios("throughput", rates(rounds)),
    }


def redis(bench: Bench) -> dict[str, Any]:
    """Measure those who use a broker on Redis."""
    ours = bench.options.size(4000, 1000)
    wanted = {
        name: ["throughput", str(CONTENDERS[name].orders(ours))]
        for name in ("ours", "celery_chain", "naive")
    }
    rounds = bench.rounds("redis", wanted, broker="redis")
    return {"redis": _rates(rounds), "ratios": _ratios("redis", rates(rounds))}


def slow(bench: Bench) -> dict[str, Any]:
    """Measure steps of 50 ms: how near to slots / time?"""
    orders = bench.options.size(1000, 300)
    wanted = {
        "ours": ["throughput", str(orders), "bench_slow"],
        "celery_chain": ["throughput", str(orders)],
    }
    seconds = {"BENCH_STEP_SECONDS": str(shape.SLOW_SECONDS)}
    rounds = bench.rounds("slow", wanted, variables=seconds)
    return {"slow_agents": {**_rates(rounds), "ideal": shape.IDEAL_PER_SECOND}}


def latency(bench: Bench) -> dict[str, Any]:
    orders = str(min(bench.options.orders or 1000, 50 if bench.options.is_quick else 200))
    wanted = {name: ["latency", orders] for name in ("ours", "celery_chain", "naive")}
    rounds = bench.rounds("latency", wanted)
    middle = [
        {name: found["p50"] if found else None for name, found in one.items()} for one in rounds
    ]
    table = {}
    for name in rounds[0]:
        found = {key: figures.rounded(medians(rounds, name, key)) for key in SPREAD}
        table[name] = found if found["p50"] is not None else None
    return {"idle_latency_ms": table, "ratios": _ratios("latency", middle)}


def _rates(rounds: list[dict[str, Found | None]]) -> dict[str, float | None]:
    return {name: figures.rounded(medians(rounds, name, "per_second")) for name in rounds[0]}


def _ratios(case: str, rounds: list[dict[str, float | None]]) -> dict[str, float | None]:
    """Return ours divided by each of the others."""
    return {
        f"{case}/{name}": figures.rounded(figures.ratio(rounds, "ours", name))
        for name in PEERS
        if name in rounds[0]
    }


def _last(rounds: list[dict[str, Found | None]], name: str, key: str) -> Found | None:
    found = [one[name] for one in rounds if one[name] is not None]
    return rounded_all(found[-1][key]) if found else None
