"""Services that take seconds, which is what users have: in turn, too fast, beside a quick one."""

from dataclasses import dataclass
from typing import Any

from benchmarks import contenders, figures
from benchmarks.bench import Bench, medians
from benchmarks.cases.interleaved import Rounds, measured, together
from benchmarks.regimes.service import SECONDS
from benchmarks.shape import CHILDREN, SIDE_BY_SIDE, STEPS

#: Agent processes of ours; the others have room for the same number of calls.
FORKS = (2, 16)
#: What a call takes.
CALL_SECONDS = (0.3, 1, 3)
#: Orders that come, as a share of those for which there is room.
LOADS = {"below": 0.5, "at": 1.0, "above": 1.5}
#: What the short form has of it.
QUICK = "c2_1s_above"
FIGURES = (
    "per_second", "orders", "ended", "p50_s", "p95_s", "calls_at_once", "calls_most", "memory_mb",
    "memory_mb_per_call", "claims", "again", "again_percent",
)  # fmt: skip
OVERLOAD_FIGURES = (*FIGURES, "held_percent", "peak_per_second", "drained_per_second")
STACK = (
    "orders", "ended", "last_ended_s", "p50_s", "p95_s", "calls_at_once", "claims", "again",
    "again_percent",
)  # fmt: skip
BESIDE = ("orders", "ended", "p50_ms", "p95_ms", "calls_at_once")
BESIDE_VARIABLES = {SECONDS: "1", CHILDREN: "2"}


@dataclass(frozen=True, slots=True)
class Setting:
    """So many agent processes, a service that takes so long, and a share of that room in use."""

    forks: int
    seconds: float
    load: float

    @property
    def per_second(self) -> float:
        return self.load * self.forks * SIDE_BY_SIDE / (STEPS * self.seconds)

    @property
    def variables(self) -> dict[str, str]:
        return {
            SECONDS: f"{self.seconds:g}",
            CHILDREN: str(self.forks),
            "BENCH_WORKFLOW": "bench_remote",
        }


SETTINGS = {
    f"c{forks}_{seconds:g}s_{name}": Setting(forks, seconds, load)
    for forks in FORKS
    for seconds in CALL_SECONDS
    for name, load in LOADS.items()
}
#: Twice what the services take, and more than two cores do; for how long, in full and in short.
OVERLOADS = {"services": (Setting(2, 1, 2), 180, 20), "machine": (Setting(16, 0.3, 1), 60, 10)}


def slow(bench: Bench) -> dict[str, Any]:
    """Have orders come at a steady pace, below, at and above what there is room for."""
    only, is_quick = bench.options.only, bench.options.is_quick
    parts = {}
    for name, setting in SETTINGS.items():
        if only in name if only else name == QUICK or not is_quick:
            seconds = max(10 if is_quick else 20, 8 * setting.seconds)
            parts[name] = _loaded(
                bench, contenders.SLOW, name, setting,
                seconds=seconds, patience=seconds + 30, keys=FIGURES,
            )  # fmt: skip
    return together("slow", parts)


def overload(bench: Bench) -> dict[str, Any]:
    """Have more orders come than can be done, for minutes, and then none."""
    parts = {}
    for name, (setting, seconds, quick_seconds) in OVERLOADS.items():
        if bench.options.only in name:
            lasts = quick_seconds if bench.options.is_quick else seconds
            parts[name] = _loaded(
                bench, contenders.OVERLOAD, name, setting,
                seconds=lasts, patience=2 * lasts + 30, keys=OVERLOAD_FIGURES,
            )  # fmt: skip
    return together("overload", parts)


def beside(bench: Bench) -> dict[str, Any]:
    """Have a quick agent's orders come, alone and beside those of a saturated slow one."""
    seconds = "10" if bench.options.is_quick else "30"
    saturating = SETTINGS[QUICK].per_second
    wanted = {
        "alone": ["beside", seconds, "bench_remote", "0"],
        "beside": ["beside", seconds, "bench_remote", f"{saturating:g}"],
    }
    rounds = bench.rounds("beside", wanted, contender="ours", variables=BESIDE_VARIABLES)
    for name in wanted:
        _expect_ends(bench, "beside", rounds, name)
    p95 = [{name: found and found["p95_ms"] for name, found in one.items()} for one in rounds]
    return {
        "beside": {
            **{name: _medians(rounds, name, BESIDE) for name in wanted},
            "p95_ratio": figures.rounded(figures.ratio(p95, "beside", "alone")),
        }
    }


def stack(bench: Bench) -> dict[str, Any]:
    """Run the whole system beside services of seconds."""
    words = ["stack", "10" if bench.options.is_quick else "40"]
    rounds = bench.rounds("stack", {"ours": words})
    _expect_ends(bench, "stack", rounds, "ours")
    return {"stack": _medians(rounds, "ours", STACK)}


def _loaded(
    bench: Bench, case: str, name: str, setting: Setting, *, seconds: float, patience: float,
    keys: tuple[str, ...],
) -> dict[str, Any]:  # fmt: skip
    orders = max(20, round(setting.per_second * seconds))
    found = measured(
        bench, f"{case}_{name}", case,
        lambda one: (orders, f"{setting.per_second:g}", f"{patience:g}"),
        keys=keys, regime="loaded", variables=setting.variables,
    )  # fmt: skip
    _expect_ends(bench, f"{case}_{name}", found["rounds"], "ours")
    return found


def _expect_ends(bench: Bench, case: str, rounds: Rounds, name: str) -> None:
    """Have the run fail where orders of ours have no end; their figures are shown all the same."""
    for one in rounds:
        if (found := one[name]) and found["ended"] < found["orders"]:
            said = f"{found['ended']} of {found['orders']} orders have ended"
            bench.wrong.append(f"{case}: {name}: {said}")


def _medians(rounds: Rounds, name: str, keys: tuple[str, ...]) -> dict[str, Any] | None:
    if medians(rounds, name, "orders") is None:
        return None
    return {key: figures.rounded(medians(rounds, name, key)) for key in keys}
