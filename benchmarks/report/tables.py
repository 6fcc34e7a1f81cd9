"""What a report shows, as tables of text; the terminal, the page and the docs draw them."""

from collections.abc import Mapping
from typing import Any

from benchmarks.contenders import CONTENDERS
from benchmarks.report import arriving, shaped, slow
from benchmarks.report.table import NONE, Table, number


def every(found: Mapping[str, Any]) -> list[Table]:
    """Return the tables of all cases that were measured: the bars, then what users have."""
    makers = (
        _bars, slow.slow, slow.overload, slow.beside, arriving.paced, arriving.starved,
        arriving.long, arriving.rated, arriving.outage, slow.stack, _sustained, _steady, _latency,
        _filled, _cpu, _http, shaped.keys, shaped.lists, _redis, _fan, _submission, _apply, _sweep,
        _recovery, _costs, _growth, _idle, _embedded, _memory, _missing,
    )  # fmt: skip
    made = [table for make in makers for table in _listed(make(found))]
    return [table for table in made if table.rows]


def _listed(made: Table | list[Table] | None) -> list[Table]:
    if made is None:
        return []
    return made if isinstance(made, list) else [made]


def _bars(found: Mapping[str, Any]) -> Table:
    rows = [
        (
            one["case"],
            one["says"],
            number(one["figure"]),
            one["unit"],
            one["wanted"],
            one["verdict"],
        )
        for one in found["bars"]
    ]
    return Table("Bars", ("case", "figure", "here", "unit", "bar", "verdict"), rows)


#: What an order costs, beside its time: key -> heading.
COSTS = {
    "cpu_ms": "CPU ms", "commits": "commits", "fsyncs": "fsyncs", "wal_bytes": "WAL bytes",
    "messages": "messages",
}  # fmt: skip
RATIO = "A ratio is ours divided by it, the median of the ratios of the rounds."
COUNTED = (
    "CPU of all processes and servers, for an order; commits are PostgreSQL's transactions that"
    " wrote something."
)
WAITS = {"p50": "p50 ms", "p95": "p95 ms", "p99": "p99 ms"}
RATE = {"per_second": "orders/s"}


def _sustained(found: Mapping[str, Any]) -> list[Table]:
    return [
        _regime(
            found, f"sustained_{count}", table,
            f"Orders one by one while the workers run, {count} at once", RATE,
        )
        for count, table in (found["sustained"] or {}).items()
    ]  # fmt: skip


def _steady(found: Mapping[str, Any]) -> list[Table]:
    return [
        _regime(found, f"steady_{load}", table, f"{load} orders a second", WAITS)
        for load, table in (found["steady"] or {}).items()
    ]


def _latency(found: Mapping[str, Any]) -> Table | None:
    if not found["latency"]:
        return None
    return _regime(found, "latency", found["latency"], "One order at idle", WAITS)


def _filled(found: Mapping[str, Any]) -> Table | None:
    if not found["filled"]:
        return None
    return _regime(found, "filled", found["filled"], "A queue that was filled first", RATE)


def _http(found: Mapping[str, Any]) -> list[Table]:
    return [
        _regime(
            found, f"http_{ms}", table, f"Agents that call a service of {ms} ms over HTTP", RATE
        )
        for ms, table in (found["http"] or {}).items()
    ]


def _redis(found: Mapping[str, Any]) -> Table | None:
    if not found["redis"]:
        return None
    title = "A queue that was filled first, with Redis as the broker"
    return _regime(found, "redis", found["redis"], title, RATE)


def _regime(
    found: Mapping[str, Any], case: str, table: Mapping[str, Any], title: str,
    figures: Mapping[str, str],
) -> Table:  # fmt: skip
    """Return everybody's figures in one regime, and ours divided by theirs."""
    ratios = found["ratios"]
    rows = [
        (
            CONTENDERS[name].title,
            *(number((one or {}).get(key)) for key in (*figures, *COSTS)),
            number(ratios.get(f"{case}/{name}")),
            number(ratios.get(f"{case}/cpu/{name}")),
            CONTENDERS[name].keeps,
        )
        for name, one in table.items()
    ]
    head = ("", *figures.values(), *COSTS.values(), "ratio", "CPU ratio", "keeps")
    return Table(title, head, rows, f"{RATIO} {COUNTED}")


def _cpu(found: Mapping[str, Any]) -> Table | None:
    costs = found["cpu_ms_per_order"] or {}
    whole = sum(costs.values())
    rows = [(role, number(ms), f"{100 * ms / whole:.0f} %") for role, ms in costs.items() if ms]
    note = "While a queue that was filled first was drained."
    return Table("Where the CPU time of one order goes", ("", "ms", "share"), rows, note)


def _fan(found: Mapping[str, Any]) -> Table | None:
    if not found["fan_out"]:
        return None
    row = (number(found["fan_out"]["ours"]), number(found["fan_out"]["steps_per_second"]))
    return Table("Ten steps at once between a first and a last", ("orders/s", "steps/s"), [row])


def _submission(found: Mapping[str, Any]) -> Table | None:
    if not found["submission"]:
        return None
    says = {
        "singly": "submit, a transaction each",
        "placed": "place_order, the shop's",
        "bulk": "submit, 100 in a transaction",
        "http": "HTTP, 4 clients, one gunicorn worker",
    }
    rows = [(says[way], number(rate)) for way, rate in found["submission"].items()]
    return Table("Submission", ("", "orders/s"), rows)


def _apply(found: Mapping[str, Any]) -> Table | None:
    if not found["apply"]:
        return None
    row = tuple(number(value) for value in found["apply"].values())
    head = ("steps/s", "ms for 100 replies", "µs of CPU for a step")
    return Table("One process applies replies, 100 at a time", head, [row])


def _sweep(found: Mapping[str, Any]) -> Table | None:
    if not found["sweep"]:
        return None
    keys = (
        "find_ms",
        "reset_ms",
        "reset_python_ms",
        "index",
        "claim_find_ms",
        "claim_ms",
        "claim_index",
    )
    rows = [
        (f"{int(size):,}", *(number((row or {}).get(key)) for key in keys))
        for size, row in found["sweep"].items()
    ]
    head = (
        "steps", "find 1,000 ms", "reset 1,000 ms", "of it Python", "index",
        "find 200 to claim ms", "claim 200 ms", "index",
    )  # fmt: skip
    note = (
        "Reset is all of it: find, lock, decide, write, journal, commit; of it Python is the CPU"
        " time of our process. 10 million: --large."
    )
    return Table("Sweep and claim by table size", head, rows, note)


def _recovery(found: Mapping[str, Any]) -> Table | None:
    if not found["recovery"]:
        return None
    one = found["recovery"]
    says = {
        "deadline_to_pending_ms": "from complete_by until pending",
        "expiry_to_pending_ms": "from expiry (after the grace) until pending",
        "due_to_claimed_ms": "from the end of its backoff until claimed",
    }
    rows = [
        (text, *(number(one[key][p]) for p in ("p50", "p95", "p99"))) for key, text in says.items()
    ]
    note = (
        f"Sweep every {number(one['sweep_seconds'])} s, grace {number(one['grace_seconds'])} s,"
        f" poll every {number(one['poll_seconds'])} s."
    )
    return Table("Recovery", ("", "p50 ms", "p95 ms", "p99 ms"), rows, note)


def _costs(found: Mapping[str, Any]) -> Table | None:
    if not found["costs"]:
        return None
    says = {"journal": "journal", "confirms": "publisher confirms"}
    rows = [("everything", number(found["costs"]["everything"]), NONE)]
    for name, text in says.items():
        one = found["costs"][name] or {}
        percent = one.get("percent")
        share = NONE if percent is None else f"{number(percent)} %"
        rows.append((f"without {text}", number(one.get("without")), share))
    return Table("What guarantees cost", ("", "orders/s", "it costs"), rows)


def _growth(found: Mapping[str, Any]) -> Table | None:
    if not found["growth"]:
        return None
    base = found["growth"]["open"]
    rows = [
        (f"{base * int(name[:-1]):,}", number(rate))
        for name, rate in found["growth"].items()
        if name != "open"
    ]
    return Table("Open orders already in the tables", ("open orders", "orders/s"), rows)


def _idle(found: Mapping[str, Any]) -> Table | None:
    if found["idle_cpu_percent"] is None:
        return None
    by_role = found.get("idle_cpu_percent_by_role") or {}
    rows = [(role, number(percent)) for role, percent in by_role.items()]
    rows.append(("together", number(found["idle_cpu_percent"])))
    return Table("CPU with nothing to do", ("role", "% of a core"), rows)


def _embedded(found: Mapping[str, Any]) -> Table | None:
    if not found["embedded"]:
        return None
    row = tuple(number(value) for value in found["embedded"].values())
    head = ("orders/s", "transitions/s", "'database is locked'")
    return Table("Embedded default: SQLite, a private Valkey", head, [row])


def _memory(found: Mapping[str, Any]) -> Table | None:
    rows = [
        (CONTENDERS[name].title, role, ", ".join(number(one) for one in sizes))
        for name, roles in (found["memory_mb"] or {}).items()
        for role, sizes in (roles or {}).items()
    ]
    note = "Proportional share of every process, the parent first, at the end of the last round."
    return Table("Memory", ("", "role", "MB"), rows, note)


def _missing(found: Mapping[str, Any]) -> Table:
    rows = [(name, why) for name, why in found["missing"].items()]
    rows += [("note", note) for note in found["notes"]]
    return Table("Not measured", ("", "why"), rows)
