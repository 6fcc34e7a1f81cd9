"""The page of figures: a block between two markers, written from a run's JSON."""

import json
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT
from benchmarks.report import scaling
from benchmarks.report.table import Table
from benchmarks.report.tables import every

PAGE = ROOT / "proofs" / "figures.md"
BEGIN = "<!-- figures: written by `python -m benchmarks --write-docs` -->"
END = "<!-- end of figures -->"


def write(source: Path, page: Path = PAGE) -> None:
    """Replace what stands between the markers by the figures of a run."""
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has no markers. Put {BEGIN} and {END} where figures go.")
    found = json.loads(source.read_text(encoding="utf-8"))
    page.write_text(f"{before}{BEGIN}\n\n{render(found)}\n{END}{after}", encoding="utf-8")


def render(found: dict[str, Any]) -> str:
    machine = found["machine"]
    servers = [_server(name, said) for name, said in machine["servers"].items() if said]
    packages = [f"{name} {said}" for name, said in machine["packages"].items() if said]
    lines = [
        f"Measured on {machine['at'][:10]}: {machine['cores']} cores, {machine['model']},"
        f" {machine['memory_gb']} GB, {machine['system']}, Python {machine['python']}.",
        f"Servers: {'; '.join(servers)}.",
        f"Packages: {', '.join(packages)}.",
        f"Conditions: {found['conditions']}.",
        "",
    ]
    calculated = scaling.table(found)
    for table in [*every(found), *([calculated] if calculated else [])]:
        lines += [f"### {table.title}", "", *_draw(table), ""]
    return "\n".join(lines)


def _server(name: str, said: Any) -> str:
    if isinstance(said, dict):
        return f"{name} " + ", ".join(f"{key} {value}" for key, value in said.items())
    return f"{name} {said}"


def _draw(table: Table) -> list[str]:
    rule = ["|" + "---|" * len(table.head)]
    rows = [_row(table.head), *rule, *(_row(row) for row in table.rows)]
    return [*rows, "", table.note] if table.note else rows


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
