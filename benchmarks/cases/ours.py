"""Ours alone: what is applied, taken, swept, recovered; what growth, guarantees and rest cost."""

from typing import Any

from benchmarks import figures
from benchmarks.bench import Bench, Found, medians, rounded_all, say

COSTS = ("journal", "confirms")
GROWTH = (1, 10, 100)


def apply(bench: Bench) -> dict[str, Any]:
    words = ["apply", str(bench.options.size(2000, 1000)), "100"]
    keys = ("steps_per_second", "ms_per_batch", "cpu_us_per_step")
    return {"apply": _medians(bench.rounds("apply", {"ours": words}), keys)}


def submission(bench: Bench) -> dict[str, Any]:
    words = ["submission", str(bench.options.size(1000, 300))]
    rounds = bench.rounds("submission", {"ours": words})
    return {"submission": _medians(rounds, ("singly", "placed", "bulk", "http"))}


def fan(bench: Bench) -> dict[str, Any]:
    words = ["filled", str(bench.options.size(1500, 400))]
    variables = {"BENCH_WORKFLOW": "bench_fan"}
    rounds = bench.rounds("fan", {"ours": words}, variables=variables)
    rate = medians(rounds, "ours", "per_second")
    steps = None if rate is None else figures.rounded(rate * 12)
    return {"fan_out": {"ours": figures.rounded(rate), "steps_per_second": steps}}


def sweep(bench: Bench) -> dict[str, Any]:
    sizes = [10_000, 1_000_000] + [10_000_000] * bench.options.is_large
    found: dict[str, Any] = {}
    for size in sizes:
        variables = {"SAS_SWEEP_BATCH": "1000"}
        rounds = bench.rounds("sweep", {str(size): ["sweep", str(size)]}, 1,
                              contender="ours", variables=variables)  # fmt: skip
        found[str(size)] = rounded_all(rounds[0][str(size)])
    if not bench.options.is_large:
        # Minutes, and some 10 GB of disk: only where it is asked for.
        found["10000000"] = None
        bench.notes.append("sweep at 10 million steps: not measured, ask with --large")
    return {"sweep": found}


def recovery(bench: Bench) -> dict[str, Any]:
    words = ["recovery", str(bench.options.size(400, 100))]
    rounds = bench.rounds("recovery", {"ours": words}, 1)
    return {"recovery": rounded_all(rounds[0]["ours"])}


def costs(bench: Bench) -> dict[str, Any]:
    """Leave out one thing at a time, in turn with the whole, and compare inside each round."""
    words = ["filled", str(bench.options.size(4000, 1000))]
    left_out = COSTS if bench.options.broker == "rabbitmq" else COSTS[:-1]
    rounds: list[dict[str, Found | None]] = []
    for number in range(1, bench.options.rounds + 1):
        say(f"costs: round {number}")
        one = {"everything": bench.once("costs", "everything", words, number, contender="ours")}
        for name in left_out:
            one[name] = bench.once("costs", name, words, number, contender="ours",
                                   variables={"BENCH_WITHOUT": name})  # fmt: skip
        rounds.append(one)
    table: dict[str, Any] = {
        "everything": figures.rounded(medians(rounds, "everything", "per_second"))
    }
    for name in COSTS:
        if name not in left_out or medians(rounds, name, "per_second") is None:
            table[name] = None
            continue
        share = figures.ratio(rates(rounds), "everything", name)
        table[name] = {
            "without": figures.rounded(medians(rounds, name, "per_second")),
            "percent": None if share is None else figures.rounded(100 * (1 - share)),
        }
    return {"costs": table}


def growth(bench: Bench) -> dict[str, Any]:
    base = bench.options.size(1000, 300)
    wanted = {f"{times}x": ["growth", str(base), str(times)] for times in GROWTH}
    rounds = bench.rounds("growth", wanted, contender="ours")
    table: dict[str, Any] = {
        name: figures.rounded(medians(rounds, name, "per_second")) for name in wanted
    }
    ratio = figures.rounded(figures.ratio(rates(rounds), "100x", "1x"))
    return {"growth": {"open": base, **table}, "ratios": {"growth/100x": ratio}}


def idle(bench: Bench) -> dict[str, Any]:
    seconds = "10" if bench.options.is_quick else "60"
    found = bench.rounds("idle", {"ours": ["rest", seconds]}, 1)[0]["ours"]
    if found is None:
        return {"idle_cpu_percent": None}
    by_role = {role: figures.rounded(value) for role, value in found["by_role"].items()}
    return {
        "idle_cpu_percent": figures.rounded(found["percent"]),
        "idle_cpu_percent_by_role": by_role,
        "idle_memory_mb": rounded_all(found["memory_mb"]),
    }


def embedded(bench: Bench) -> dict[str, Any]:
    """Measure the default that needs no server: SQLite, and a private Valkey."""
    words = ["filled", str(bench.options.size(300, 100))]
    rounds = bench.rounds("embedded", {"ours": words}, database="sqlite", broker="valkey")
    found = _medians(rounds, ("per_second", "transitions_per_order"))
    if found is not None:
        each = found.pop("transitions_per_order")
        found["transitions_per_second"] = figures.rounded(each * found["per_second"])
        found["locked_errors"] = sum(one["ours"]["locked_errors"] for one in rounds if one["ours"])
    return {"embedded": found}


def rates(rounds: list[dict[str, Found | None]]) -> list[dict[str, float | None]]:
    return [
        {name: found["per_second"] if found else None for name, found in one.items()}
        for one in rounds
    ]


def _medians(rounds: list[dict[str, Found | None]], keys: tuple[str, ...]) -> Found | None:
    if medians(rounds, "ours", keys[0]) is None:
        return None
    return {key: figures.rounded(medians(rounds, "ours", key)) for key in keys}
