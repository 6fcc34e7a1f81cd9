"""The report as plain text for a terminal or a file."""

from collections.abc import Mapping
from typing import Any

from benchmarks.report.table import Table
from benchmarks.report.tables import every


def render(found: Mapping[str, Any]) -> str:
    machine = found["machine"]
    lines = [
        f"{found['on']}, {machine['cores']} cores, {machine['model']}, Python {machine['python']}",
        found["conditions"],
        "",
    ]
    for table in every(found):
        lines += [*_draw(table), ""]
    return "\n".join(lines)


def _draw(table: Table) -> list[str]:
    rows = [table.head, *table.rows]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.head))]
    drawn = [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    rule = "  " + "  ".join("-" * width for width in widths)
    note = [f"  {table.note}"] if table.note else []
    return [table.title, drawn[0], rule, *drawn[1:], *note]
