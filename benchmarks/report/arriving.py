"""The tables of orders that come one by one, of long calls, rates, and an outage."""

from collections.abc import Mapping
from typing import Any

from benchmarks.report.slow import ended
from benchmarks.report.table import Table, number

#: Key -> heading.
PACED = {
    "ended_in_time": "ended with the last submission", "per_second": "orders/s",
    "held_percent": "held %", "gap_s": "longest gap s", "p50_s": "p50 s", "p95_s": "p95 s",
    "again": "made again", "called_dead": "called dead",
}  # fmt: skip
LONG = {
    "p50_ms": "p50 ms", "p95_ms": "p95 ms", "calls_at_once": "long calls at once",
    "again": "made again",
}  # fmt: skip
RATED = {
    "share": "of the rate", "worst_share": "in the worst 10 s", "most_share": "in the busiest 1 s",
    "behind_s": "behind s",
}  # fmt: skip
OUTAGE = {
    "calls": "calls", "again": "made again", "in_error": "in error",
    "drained_s": "all over after s",
}  # fmt: skip
NOTE = (
    "Four calls of 10 ms for an order, two agent processes. So many processes submit, together"
    " half, all or twice of what a filled queue has done a second so far from its database. Held is"
    " what was done in the second half, of the best window; a gap is a time in which no step ended."
)


def paced(found: Mapping[str, Any]) -> Table | None:
    return _table("Orders that come one by one", PACED, found["paced"], NOTE)


def starved(found: Mapping[str, Any]) -> Table | None:
    note = "Four processes submit all that can be done, beside so many that use up the CPU."
    return _table("Orders one by one on a starved machine", PACED, found["starved"], note)


def long(found: Mapping[str, Any]) -> Table | None:
    parts = dict(found["beside_long"] or {})
    note = f"The p95 beside is {number(parts.pop('p95_ratio', None))} times that alone."
    return _table("Steps of a quick agent beside calls of 150 s", LONG, parts, note)


def rated(found: Mapping[str, Any]) -> Table | None:
    if not found["rated"]:
        return None
    rows = [
        (rate, name, *(number((one or {}).get(key)) for key in RATED))
        for rate, table in found["rated"].items()
        for name, one in table.items()
    ]
    return Table("Rates", ("calls a second", "workers", *RATED.values()), rows)


def outage(found: Mapping[str, Any]) -> Table | None:
    one = found["outage"]
    if not one:
        return None
    row = tuple(number(one[key]) for key in OUTAGE)
    title = "The database away for 16 s during calls of 3 s, a third of them unsafe"
    return Table(title, tuple(OUTAGE.values()), [row])


def _table(
    title: str, columns: Mapping[str, str], parts: Mapping[str, Any] | None, note: str
) -> Table | None:
    if not parts:
        return None
    rows = [
        (name, ended(one), *(number((one or {}).get(key)) for key in columns))
        for name, one in parts.items()
    ]
    return Table(title, ("", "ended", *columns.values()), rows, note)
