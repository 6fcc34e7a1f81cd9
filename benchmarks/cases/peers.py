"""Ours beside what people would use instead, in each of the ways in which orders come."""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import contenders, figures
from benchmarks.bench import Bench, Found, rounded_all
from benchmarks.contenders import CONTENDERS
from benchmarks.regimes.service import SECONDS

Rounds = list[dict[str, Found | None]]

SPREAD = ("p50", "p95", "p99")
#: What an order costs, beside its time.
COSTS = ("cpu_ms", "commits", "wal_bytes", "fsyncs", "messages")
#: How many submit at once.
SUBMITTERS = (1, 8)
#: Orders a second.
LOADS = (5, 20, 100)
#: What a call of the remote service takes, in milliseconds.
CALL_MS = (5, 50)


def filled(bench: Bench) -> dict[str, Any]:
    ours = bench.options.size(6000, 2000)
    found = _measured(bench, "filled", contenders.FILLED, lambda one: (one.orders(ours),))
    rounds = found.pop("rounds")
    return {
        **found,
        "memory_mb": {name: _last(rounds, name, "memory_mb") for name in rounds[0]},
        "cpu_ms_per_order": _last(rounds, "ours", "cpu_ms_per_order"),
    }


def sustained(bench: Bench) -> dict[str, Any]:
    orders = bench.options.size(1500, 500)
    return _together(
        "sustained",
        {
            str(submitters): _measured(
                bench, f"sustained_{submitters}", contenders.SUSTAINED,
                lambda one, submitters=submitters: (orders, submitters), regime="sustained",
            )
            for submitters in SUBMITTERS
        },
    )  # fmt: skip


def steady(bench: Bench) -> dict[str, Any]:
    seconds = 8 if bench.options.is_quick else 20
    return _together(
        "steady",
        {
            str(load): _measured(
                bench, f"steady_{load}", contenders.STEADY,
                lambda one, load=load: (max(60, load * seconds), load),
                keys=SPREAD, regime="steady",
            )
            for load in LOADS
        },
    )  # fmt: skip


def latency(bench: Bench) -> dict[str, Any]:
    orders = min(bench.options.orders or 1000, 50 if bench.options.is_quick else 200)
    found = _measured(
        bench, "latency", contenders.IDLE, lambda one: (orders,), keys=SPREAD, regime="idle"
    )
    found.pop("rounds")
    return found


def http(bench: Bench) -> dict[str, Any]:
    """Measure agents that call a service."""
    ours = bench.options.size(1000, 400)
    return _together(
        "http",
        {
            str(ms): _measured(
                bench, f"http_{ms}", contenders.HTTP, lambda one: (ours,), regime="filled",
                variables={SECONDS: str(ms / 1000), "BENCH_WORKFLOW": "bench_remote"},
            )
            for ms in CALL_MS
        },
    )  # fmt: skip


def redis(bench: Bench) -> dict[str, Any]:
    """Measure those who use a broker on Redis."""
    ours = bench.options.size(4000, 1000)
    found = _measured(
        bench, "redis", contenders.REDIS, lambda one: (one.orders(ours),), regime="filled",
        broker="redis",
    )  # fmt: skip
    found.pop("rounds")
    return found


def _measured(
    bench: Bench,
    case: str,
    taking_part: str,
    words: Callable[[contenders.Contender], tuple[Any, ...]],
    *,
    keys: tuple[str, ...] = ("per_second",),
    regime: str = "filled",
    **how: Any,
) -> dict[str, Any]:
    """Interleave everybody; a ratio is of one round."""
    rounds = bench.rounds(
        case,
        {name: [regime, *map(str, words(one))] for name, one in contenders.of(taking_part).items()},
        **how,
    )
    table = {name: _medians(rounds, name, (*keys, *COSTS)) for name in rounds[0]}
    ratios = _ratios(case, rounds, keys[0]) | _ratios(f"{case}/cpu", rounds, "cpu_ms")
    return {case: table, "ratios": ratios, "rounds": rounds}


def _together(key: str, parts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    table, ratios = {}, {}
    for name, part in parts.items():
        table[name] = part[f"{key}_{name}"]
        ratios |= part["ratios"]
    return {key: table, "ratios": ratios}


def _medians(rounds: Rounds, name: str, keys: tuple[str, ...]) -> Found | None:
    found = [one[name] for one in rounds if one[name] is not None]
    if not found:
        return None
    return {
        key: figures.rounded(
            figures.median([one[key] for one in found if one.get(key) is not None])
        )
        for key in keys
    }


def _ratios(case: str, rounds: Rounds, key: str) -> dict[str, float | None]:
    """Return ours divided by each of the others."""
    plain = [{name: found and found.get(key) for name, found in one.items()} for one in rounds]
    return {
        f"{case}/{name}": figures.rounded(figures.ratio(plain, "ours", name))
        for name in CONTENDERS
        if name != "ours" and name in rounds[0]
    }


def _last(rounds: Rounds, name: str, key: str) -> Found | None:
    found = [one[name] for one in rounds if one[name] is not None]
    return rounded_all(found[-1][key]) if found else None
