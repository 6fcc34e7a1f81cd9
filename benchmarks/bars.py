"""The bars, and whether a run met them: medians, ratios of one and the same round."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.cases.arriving import BUSY, RATES
from benchmarks.cases.slow import QUICK as SATURATED
from benchmarks.shape import SIDE_BY_SIDE


@dataclass(frozen=True, slots=True)
class Bar:
    case: str
    says: str
    #: Where its figure is in the JSON, key by key.
    path: tuple[str, ...]
    bound: float
    stretch: float | None = None
    unit: str = ""
    #: The figure must be at most the bound, not at least.
    is_limit: bool = False
    #: Of the database and broker that it was set for.
    is_of_production: bool = True

    def figure(self, found: Mapping[str, Any]) -> float | None:
        value: Any = found
        for key in self.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def verdict(self, found: Mapping[str, Any]) -> str:
        """Return ``stretch``, ``met``, ``missed``, or ``not measured``."""
        value = self.figure(found)
        if value is None or (self.is_of_production and found["on"] != PRODUCTION):
            return "not measured"
        if self.stretch is not None and self._holds(value, self.stretch):
            return "stretch"
        return "met" if self._holds(value, self.bound) else "missed"

    def wanted(self) -> str:
        sign = "≤" if self.is_limit else "≥"
        stretch = "" if self.stretch is None else f" (stretch {self.stretch:,g})"
        return f"{sign} {self.bound:,g}{stretch}"

    def _holds(self, value: float, bound: float) -> bool:
        return value <= bound if self.is_limit else value >= bound


PRODUCTION = "postgresql+rabbitmq"
LARGEST = "10000000"

BARS = (
    Bar("slow, 1 s, -c 2", f"calls at once, of {2 * SIDE_BY_SIDE}",
        ("slow", SATURATED, "ours", "calls_at_once"), 0.9 * 2 * SIDE_BY_SIDE, None, "calls"),
    Bar("slow, 1 s, -c 2", "orders/s, times Celery chain on threads",
        ("ratios", f"slow_{SATURATED}/chain_threads"), 1, 1.2, "x"),
    Bar("slow, 1 s, -c 2", "orders/s, times DBOS",
        ("ratios", f"slow_{SATURATED}/dbos"), 1.2, 1.5, "x"),
    Bar("beside", "p95 of a quick agent's steps beside a slow one, times alone",
        ("beside", "p95_ratio"), 2, 1.2, "x", True),
    *(
        bar
        for whose in ("services", "machine")
        for bar in (
            Bar(f"overload, {whose}", "done/s in the second half, of its peak",
                ("overload", whose, "ours", "held_percent"), 95, None, "%"),
            Bar(f"overload, {whose}", "calls made again, of 100",
                ("overload", whose, "ours", "again_percent"), 1, None, "%", True),
        )
    ),
    Bar("paced, worst", "longest time in which no step ended",
        ("paced", "worst", "gap_s"), 5, None, "s", True),
    Bar("paced, worst", "calls made again", ("paced", "worst", "again"), 0, None, "", True),
    Bar("paced, worst", "done/s in the second half, of its peak",
        ("paced", "worst", "held_percent"), 95, None, "%"),
    *(
        bar
        for busy in map(str, BUSY)
        for bar in (
            Bar(f"starved, {busy}", "longest time in which no step ended",
                ("starved", busy, "gap_s"), 5, 3, "s", True),
            Bar(f"starved, {busy}", "calls made again",
                ("starved", busy, "again"), 0, None, "", True),
            Bar(f"starved, {busy}", "workers called dead",
                ("starved", busy, "called_dead"), 0, None, "", True),
        )
    ),
    Bar("beside-long", "p95 of a quick agent's steps beside calls of 150 s, times alone",
        ("beside_long", "p95_ratio"), 2, 1.2, "x", True),
    Bar("beside-long", "calls made again", ("beside_long", "beside", "again"), 0, None, "", True),
    *(
        bar
        for rate in map(str, RATES)
        for bar in (
            Bar(f"rated, {rate}", "calls in the worst 10 s, of the rate",
                ("rated", rate, "both", "worst_share"), 0.9, 0.98, "x"),
            Bar(f"rated, {rate}", "calls in the busiest second, of the rate",
                ("rated", rate, "killed", "most_share"), 1, None, "x", True),
            Bar(f"rated, {rate}", "behind after one of two workers was killed",
                ("rated", rate, "killed", "behind_s"), 5, None, "s", True),
        )
    ),
    Bar("outage", "calls made again", ("outage", "again"), 0, None, "", True),
    Bar("outage", "unsafe steps in error", ("outage", "in_error"), 0, None, "", True),
    Bar("stack", "the last order's end after the last submission", ("stack", "last_ended_s"),
        20, 12, "s", True),
    Bar("stack", "calls made again, of 100", ("stack", "again_percent"), 1, None, "%", True),
    *(
        Bar(f"sustained, {submitters}", f"orders/s, times {who}",
            ("ratios", f"sustained_{submitters}/{name}"), bound, stretch, "x")
        for submitters in (1, 8)
        for who, name, bound, stretch in (
            ("DBOS", "dbos", 3 if submitters == 1 else 4.5, None),
            ("Restate", "restate", 1.5 if submitters == 1 else 1.2, None),
        )
    ),
    *(
        bar
        for load in (20, 100)
        for bar in (
            Bar(f"steady, {load}/s", "CPU for an order, times DBOS",
                ("ratios", f"steady_{load}/cpu/dbos"), 0.7, 0.35, "x", True),
            Bar(f"steady, {load}/s", "p50, times DBOS",
                ("ratios", f"steady_{load}/dbos"), 0.5, None, "x", True),
        )
    ),
    Bar("latency", "p50, times Restate", ("ratios", "latency/restate"), 1.6, 1.2, "x", True),
    Bar("latency", "p50, times DBOS called directly",
        ("ratios", "latency/dbos_direct"), 1.3, 1, "x", True),
    Bar("latency", "commits of an order", ("latency", "ours", "commits"), 7, None, "", True),
    Bar("latency", "CPU for an order", ("latency", "ours", "cpu_ms"), 22, 15, "ms", True),
    Bar("filled", "times DBOS", ("ratios", "filled/dbos"), 6.3, 12, "x"),
    Bar("filled", "times Celery chain, solo", ("ratios", "filled/chain_solo"), 1.7, None, "x"),
    *(
        Bar("http", f"CPU for an order, calls of {ms} ms",
            ("http", str(ms), "ours", "cpu_ms"), 8, None, "ms", True)
        for ms in (5, 50)
    ),
    Bar("keys", "orders/s with a limit for each of 1,000 keys, times without",
        ("keys", "ratio"), 0.8, None, "x"),
    Bar("lists", "children/s, times submitted processes",
        ("ratios", "lists/submitted"), 0.8, None, "x"),
    Bar("lists", "children/s, times DBOS", ("ratios", "lists/dbos"), 2, None, "x"),
    Bar("lists", "rows of the parent",
        ("lists", "ours", "parent_bytes"), 4096, None, "bytes", True),
    Bar("lists", "memory of a Scheduler, more than at rest",
        ("lists", "ours", "scheduler_mb"), 50, None, "MB", True),
    Bar("apply", "100 replies at a time", ("apply", "steps_per_second"), 10_000, 25_000, "steps/s"),
    Bar(
        "sweep", "find 1,000 expired of 10 million", ("sweep", LARGEST, "find_ms"),
        5, None, "ms", True,
    ),
    Bar(
        "sweep", "reset 1,000 expired of 10 million", ("sweep", LARGEST, "reset_ms"),
        50, None, "ms", True,
    ),
    Bar("submission", "one by one", ("submission", "singly"), 500, 1000, "orders/s"),
    Bar("submission", "in bulk", ("submission", "bulk"), 5000, 10_000, "orders/s"),
    Bar(
        "recovery", "p99 from expiry until pending: sweep interval + 0.5 s",
        ("recovery", "expiry_to_pending_ms", "p99"), 2500, None, "ms", True,
    ),
    Bar("idle", "CPU of all our processes", ("idle_cpu_percent",), 2, None, "% of a core", True),
    Bar(
        "embedded", "SQLite", ("embedded", "transitions_per_second"),
        300, 1000, "transitions/s", False, False,
    ),
    Bar(
        "embedded", "SQLite: errors 'database is locked'", ("embedded", "locked_errors"),
        0, None, "", True, False,
    ),
)  # fmt: skip


def judge(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "case": bar.case,
            "says": bar.says,
            "figure": bar.figure(found),
            "unit": bar.unit,
            "wanted": bar.wanted(),
            "verdict": bar.verdict(found),
        }
        for bar in BARS
    ]
