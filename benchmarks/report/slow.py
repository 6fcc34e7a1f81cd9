"""The tables of services that take seconds."""

from collections.abc import Mapping
from typing import Any

from benchmarks.cases.slow import OVERLOADS, SETTINGS, Setting
from benchmarks.contenders import CONTENDERS
from benchmarks.report.table import Table, number
from benchmarks.shape import SIDE_BY_SIDE

#: Key -> heading.
SLOW = {
    "per_second": "orders/s", "p50_s": "p50 s", "p95_s": "p95 s", "calls_at_once": "calls at once",
    "calls_most": "at most", "cpu_ms": "CPU ms", "memory_mb_per_call": "MB a call at once",
    "again_percent": "made again %",
}  # fmt: skip
OVERLOAD = {
    "peak_per_second": "peak done/s", "held_percent": "held %", "drained_per_second": "drained/s",
    "calls_at_once": "calls at once", "again_percent": "made again %", "p95_s": "p95 s",
}  # fmt: skip
NOTE = (
    "Calls at once as the service counts them: on average in the second half of the arrivals, and"
    " at most. Memory is that of all of the contender's own processes, PostgreSQL and RabbitMQ left"
    " out. A dash for a percentile: so many orders had no end when the run was given up."
)
HELD = (
    "Done in 10 s at a time (5 s, in runs of less than a minute): the most, what it was on average"
    " in the second half of the arrivals as a share of that, and what it was after the last."
)


def slow(found: Mapping[str, Any]) -> list[Table]:
    return [
        _table(
            found, f"slow_{name}", table, SLOW, note=NOTE,
            title=f"Calls of {SETTINGS[name].seconds:g} s, {_room(SETTINGS[name])}",
        )
        for name, table in (found["slow"] or {}).items()
    ]  # fmt: skip


def overload(found: Mapping[str, Any]) -> list[Table]:
    return [
        _table(
            found, f"overload_{name}", table, OVERLOAD, note=HELD,
            title=f"More than the {name} can do: calls of {setting.seconds:g} s, {_room(setting)}",
        )
        for name, table in (found["overload"] or {}).items()
        for setting, *_ in [OVERLOADS[name]]
    ]  # fmt: skip


def _room(setting: Setting) -> str:
    calls = setting.forks * SIDE_BY_SIDE
    return f"room for {calls} (`-c {setting.forks}`), {setting.per_second:.3g} orders a second"


def _table(
    found: Mapping[str, Any], case: str, table: Mapping[str, Any], columns: Mapping[str, str], *,
    title: str, note: str,
) -> Table:  # fmt: skip
    rows = [
        (
            CONTENDERS[name].title,
            ended(one),
            *(number((one or {}).get(key)) for key in columns),
            number(found["ratios"].get(f"{case}/{name}")),
            CONTENDERS[name].keeps,
        )
        for name, one in table.items()
    ]
    head = ("", "ended", *columns.values(), "ratio of orders/s", "keeps")
    return Table(title, head, rows, note)


def ended(one: Mapping[str, Any] | None) -> str:
    is_counted = one and "orders" in one
    return f"{number(one['ended'])} of {number(one['orders'])}" if is_counted else number(None)


BESIDE = {"p50_ms": "p50 ms", "p95_ms": "p95 ms", "calls_at_once": "slow calls at once"}


def beside(found: Mapping[str, Any]) -> Table | None:
    if not found["beside"]:
        return None
    rows = [
        (name, ended(one), *(number((one or {}).get(key)) for key in BESIDE))
        for name, one in found["beside"].items()
        if name != "p95_ratio"
    ]
    ratio = number(found["beside"]["p95_ratio"])
    note = f"Each step from when it is ready. The p95 beside is {ratio} times that alone."
    return Table("Steps of a quick agent", ("", "ended", *BESIDE.values()), rows, note)


STACK = {
    "last_ended_s": "last end after the last submission s", "p50_s": "p50 s", "p95_s": "p95 s",
    "calls_at_once": "most calls at once", "claims": "claims", "again": "made again",
    "again_percent": "made again %",
}  # fmt: skip


def stack(found: Mapping[str, Any]) -> Table | None:
    one = found["stack"]
    if not one:
        return None
    row = (ended(one), *(number(one[key]) for key in STACK))
    note = "Of orders that have not ended, the time is that at which they were given up."
    title = "`manage.py stack`, services of 3 s, 6 orders a second over HTTP"
    return Table(title, ("ended", *STACK.values()), [row], note)
