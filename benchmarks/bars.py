"""The bars, and whether a run met them: medians, ratios of one and the same round."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.shape import IDEAL_PER_SECOND


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
    Bar("throughput", "times raw Celery chain", ("ratios", "throughput/celery_chain"), 3.5, 7, "x"),
    Bar("throughput", "times DBOS", ("ratios", "throughput/dbos"), 15, 30, "x"),
    Bar("latency", "p50, times raw chain's", ("ratios", "latency/celery_chain"), 6, 4, "x", True),
    Bar("latency", "p95 of one order", ("idle_latency_ms", "ours", "p95"), 40, None, "ms", True),
    Bar(
        "slow", f"agents of 50 ms, ideal {IDEAL_PER_SECOND:g}", ("slow_agents", "ours"),
        150, 190, "orders/s",
    ),
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
