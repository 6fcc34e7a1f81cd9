"""The JSON: one key for each case, null where it was not measured."""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import machine
from benchmarks.bench import Bench
from benchmarks.cases import arriving, ours, peers, shaped, slow
from benchmarks.catalogue import CASES
from benchmarks.shape import TEXT

RUN: Mapping[str, Callable[[Bench], dict[str, Any]]] = {
    "slow": slow.slow,
    "overload": slow.overload,
    "beside": slow.beside,
    "paced": arriving.paced,
    "starved": arriving.starved,
    "beside-long": arriving.long,
    "rated": arriving.rated,
    "outage": arriving.outage,
    "stack": slow.stack,
    "sustained": peers.sustained,
    "steady": peers.steady,
    "latency": peers.latency,
    "filled": peers.filled,
    "http": peers.http,
    "redis": peers.redis,
    "apply": ours.apply,
    "submission": ours.submission,
    "keys": shaped.keys,
    "lists": shaped.lists,
    "fan": ours.fan,
    "sweep": ours.sweep,
    "recovery": ours.recovery,
    "costs": ours.costs,
    "growth": ours.growth,
    "idle": ours.idle,
    "embedded": ours.embedded,
}
BESIDE = ("memory_mb", "cpu_ms_per_order")


def empty() -> dict[str, Any]:
    return {**{case.key: None for case in CASES.values()}, **dict.fromkeys(BESIDE), "ratios": {}}


def run(bench: Bench) -> dict[str, Any]:
    """Measure every case that was asked for."""
    found = empty()
    for name in bench.options.cases:
        part = RUN[name](bench)
        found["ratios"] |= part.pop("ratios", {})
        part.pop("rounds", None)
        found |= part
    return found


def complete(found: dict[str, Any], bench: Bench) -> dict[str, Any]:
    """Add where it was measured, how, and every single figure."""
    options = bench.options
    return {
        **found,
        "on": f"{options.database}+{options.broker}",
        "is_quick": options.is_quick,
        "conditions": TEXT,
        "machine": machine.facts(options.database, options.broker),
        "missing": bench.missing,
        "notes": bench.notes,
        "wrong": bench.wrong,
        "rounds": bench.raw,
    }
