"""The page: bars met and missed, charts with their tables, the machine."""

from collections.abc import Mapping
from html import escape
from typing import Any

from benchmarks.cases.slow import QUICK as SATURATED
from benchmarks.contenders import CONTENDERS
from benchmarks.report import charts
from benchmarks.report.style import STYLE
from benchmarks.report.table import Table
from benchmarks.report.tables import every

VERDICTS = ("stretch", "met", "missed")


def render(found: Mapping[str, Any]) -> str:
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Benchmark</title><style>{STYLE}</style></head><body>",
        f"<h1>Benchmark on {escape(found['on'])}</h1>",
        f"<p>{escape(found['conditions'])}.</p>",
        *(f"<p class=missed>{escape(one)}</p>" for one in found["wrong"]),
        *_charts(found),
        *(_table(table) for table in every(found)),
        _table(_machine(found["machine"])),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _charts(found: Mapping[str, Any]) -> list[str]:
    drawn = []
    for key, part, title, figure, unit in (
        ("slow", SATURATED, "Calls of 1 s, more orders than room", "per_second", "orders/s"),
        ("sustained", "1", "Orders one by one while the workers run", "per_second", "orders/s"),
        ("steady", "20", "20 orders a second, p50: shorter is better", "p50", "ms"),
        ("latency", None, "One order at idle, p50: shorter is better", "p50", "ms"),
        ("filled", None, "A queue that was filled first", "per_second", "orders/s"),
    ):
        table = found[key] and (found[key].get(part) if part else found[key])
        if table:
            rows = [
                (CONTENDERS[name].title, (one or {}).get(figure)) for name, one in table.items()
            ]
            drawn += [f"<h2>{title}</h2>", charts.bars(title, rows, unit)]
    if found["growth"]:
        base = found["growth"]["open"]
        rows = [
            (f"{base * int(name[:-1]):,} open", rate)
            for name, rate in found["growth"].items()
            if name != "open"
        ]
        title = "Orders a second by open orders"
        drawn += [f"<h2>{title}</h2>", charts.bars(title, rows, "orders/s")]
    return drawn


def _table(table: Table) -> str:
    head = "".join(f"<th scope=col>{escape(cell)}</th>" for cell in table.head)
    body = "\n".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in table.rows)
    note = f"<p class=note>{escape(table.note)}</p>" if table.note else ""
    return (
        f"<h2>{escape(table.title)}</h2><div class=wide><table>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{note}"
    )


def _cell(text: str) -> str:
    kind = f" class={text}" if text in VERDICTS else ""
    return f"<td{kind}>{escape(text)}</td>"


def _machine(machine: Mapping[str, Any]) -> Table:
    rows: list[tuple[str, str]] = []
    for name, value in machine.items():
        if isinstance(value, Mapping):
            rows += [(part, _said(one)) for part, one in value.items()]
        else:
            rows.append((name, _said(value)))
    return Table("Machine and versions", ("", ""), rows)


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return "-" if value is None else str(value)
