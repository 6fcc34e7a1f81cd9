"""Orders that come one by one, at several paces and places; long calls, rates, and an outage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import figures
from benchmarks.bench import Bench, Found, medians
from benchmarks.regimes.service import SECONDS
from benchmarks.shape import CHILDREN

CALL_SECONDS = "0.01"
#: What all of them have: calls of 10 ms, two agent processes.
VARIABLES = {SECONDS: CALL_SECONDS, CHILDREN: "2", "BENCH_WORKFLOW": "bench_remote"}
#: Processes that submit, shares of what the machine can do, and milliseconds to the database.
SUBMITTERS, LOADS, AWAY_MS = (1, 4, 16), {"half": 0.5, "all": 1.0, "twice": 2.0}, (0, 2, 20)
#: What the short form has of it.
QUICK = "s4_all_2ms"
#: Other processes that use all the CPU they can get, with two cores.
BUSY = (8, 24)
RATES = (8, 20, 100, 1000)
FIGURES = (
    "orders", "ended", "ended_in_time", "per_second", "held_percent", "gap_s", "p50_s", "p95_s",
    "claims", "again", "called_dead",
)  # fmt: skip
RATED = ("calls", "share", "worst_share", "most_share", "behind_s")
OUTAGE = ("calls", "again", "in_error", "drained_s")
#: What counts by its worst round.
WORST = {"gap_s", "again", "called_dead", "in_error", "most_share", "behind_s"}
LONG = ("orders", "ended", "p50_ms", "p95_ms", "calls_at_once", "again")


@dataclass(frozen=True, slots=True)
class Setting:
    """So many processes that submit such a share of what can be done, so far from the database."""

    submitters: int
    load: float
    away_ms: int


SETTINGS = {
    f"s{submitters}_{name}_{away_ms}ms": Setting(submitters, load, away_ms)
    for submitters in SUBMITTERS
    for name, load in LOADS.items()
    for away_ms in AWAY_MS
}


def paced(bench: Bench) -> dict[str, Any]:
    """Have orders come one by one."""
    only, is_quick = bench.options.only, bench.options.is_quick
    able: dict[int, float | None] = {}
    table = {}
    for name, setting in SETTINGS.items():
        if only in name if only else name == QUICK or not is_quick:
            if setting.away_ms not in able:
                able[setting.away_ms] = _capacity(bench, setting.away_ms)
            table[name] = _paced(bench, f"paced_{name}", setting, able[setting.away_ms], 0)
    return {"paced": {**table, "worst": _worst(list(table.values()))}}


def _worst(parts: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Return what the bars ask, by the part that keeps it worst; None: one has no figure."""
    if not all(parts):
        return None
    kept = [part for part in parts if part]
    return {
        "held_percent": min(part["held_percent"] for part in kept),
        **{key: max(part[key] for part in kept) for key in ("gap_s", "again", "called_dead")},
    }


def starved(bench: Bench) -> dict[str, Any]:
    """Have as many come as can be done, and other processes take the CPU."""
    able = _capacity(bench, 0)
    busy = BUSY[:1] if bench.options.is_quick else BUSY
    return {
        "starved": {
            str(one): _paced(bench, f"starved_{one}", Setting(4, 1.0, 0), able, one) for one in busy
        }
    }


def long(bench: Bench) -> dict[str, Any]:
    """Have a quick agent's orders come, alone and beside calls that outlast the measurement."""
    seconds = "20" if bench.options.is_quick else "90"
    wanted = {
        "alone": ["beside", seconds, "bench_long", "0"],
        "beside": ["beside", seconds, "bench_long", "10"],
    }
    rounds = bench.rounds(
        "beside-long", wanted, contender="ours", variables={**VARIABLES, SECONDS: "150"}
    )
    p95 = [{name: found and found["p95_ms"] for name, found in one.items()} for one in rounds]
    return {
        "beside_long": {
            **{name: _medians(rounds, name, LONG) for name in wanted},
            "p95_ratio": figures.rounded(figures.ratio(p95, "beside", "alone")),
        }
    }


def rated(bench: Bench) -> dict[str, Any]:
    """Have more orders wait than an agent's rate allows, with both workers and with one killed."""
    seconds = "20" if bench.options.is_quick else "40"
    table = {}
    for rate in RATES[:2] if bench.options.is_quick else RATES:
        wanted = {
            name: ["rated", str(rate), seconds, is_killed]
            for name, is_killed in (("both", "no"), ("killed", "yes"))
        }
        rounds = bench.rounds(f"rated_{rate}", wanted, contender="ours", variables=VARIABLES)
        table[str(rate)] = {name: _medians(rounds, name, RATED) for name in wanted}
    return {"rated": table}


def outage(bench: Bench) -> dict[str, Any]:
    """Take the database away for 16 s during calls of 3 s."""
    rounds = bench.rounds(
        "outage", {"ours": ["outage", "16"]}, variables={**VARIABLES, SECONDS: "3"}
    )
    return {"outage": _medians(rounds, "ours", OUTAGE)}


def _capacity(bench: Bench, away_ms: int) -> float | None:
    words = ["capacity", str(bench.options.size(2000, 500)), str(away_ms)]
    rounds = bench.rounds(f"capacity_{away_ms}ms", {"ours": words}, 1, variables=VARIABLES)
    return medians(rounds, "ours", "per_second")


def _paced(
    bench: Bench, case: str, setting: Setting, able: float | None, busy: int
) -> dict[str, Any] | None:
    if able is None:
        return None
    seconds = 20 if bench.options.is_quick else 60
    words = [
        "paced", str(setting.submitters), f"{setting.load * able:.4g}", str(seconds),
        str(setting.away_ms), str(busy),
    ]  # fmt: skip
    return _medians(bench.rounds(case, {"ours": words}, variables=VARIABLES), "ours", FIGURES)


def _medians(
    rounds: list[dict[str, Found | None]], name: str, keys: tuple[str, ...]
) -> dict[str, Any] | None:
    if medians(rounds, name, keys[0]) is None:
        return None
    return {key: figures.rounded(_of_rounds(rounds, name, key)) for key in keys}


def _of_rounds(rounds: list[dict[str, Found | None]], name: str, key: str) -> float | None:
    """Return the worst of what must never be, else the median."""
    if key not in WORST:
        return medians(rounds, name, key)
    return max(found[key] for one in rounds if (found := one[name]) is not None)
