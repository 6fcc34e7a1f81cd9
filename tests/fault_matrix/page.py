"""The fault matrix as a page: what was run, on what, and how it went."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from tests.fault_matrix.rows import ROWS, Row
from tests.programs import ROOT

PATH = ROOT / "proofs/fault-matrix.md"

_HEAD = """\
# Fault matrix

Written by `make faults`; do not edit it.

Every fault that the system is to survive, what is to be seen of it, and the tests that show it.
A test is marked with the rows it proves: `@pytest.mark.fault("F1")`.
A row without a test says so: nothing shows yet that it holds.
[Failure modes](../docs/explanation/failure-modes.md) says what each costs an order.

Last run: {date}.
{proven} of {rows} rows have a test; {runs} runs, {failed} failed, {skipped} skipped.

| row | fault | expected | on | runs | slowest |
|---|---|---|---|---|---|
"""

Result = Mapping[str, Any]


def text(results: Sequence[Result], on: date) -> str:
    """Return the page."""
    by_row = {row.id: [one for one in results if one["row"] == row.id] for row in ROWS}
    head = _HEAD.format(
        date=on.isoformat(),
        proven=sum(any(_has_run(one) for one in found) for found in by_row.values()),
        rows=len(ROWS),
        runs=sum(map(_has_run, results)),
        failed=sum(one["outcome"] == "failed" for one in results),
        skipped=sum(one["outcome"] == "skipped" for one in results),
    )
    table = "\n".join(_line(row, by_row[row.id]) for row in ROWS)
    return f"{head}{table}\n\n## Tests\n\n{_tests(by_row)}"


def _has_run(result: Result) -> bool:
    return bool(result["outcome"] != "skipped")


def _line(row: Row, results: Sequence[Result]) -> str:
    run = [one for one in results if _has_run(one)]
    if not run:
        why = "its tests were skipped" if results else "**no test yet**"
        return f"| {row.id} | {row.fault} | {row.expected} | {why} | 0 | |"
    places = sorted({f"{one['database']}, {one['broker']}" for one in run})
    failed = sum(one["outcome"] == "failed" for one in run)
    runs = f"{len(run)} good" if not failed else f"**{failed} of {len(run)} failed**"
    slowest = max(one["seconds"] for one in run)
    return (
        f"| {row.id} | {row.fault} | {row.expected} | {'; '.join(places)} | {runs} |"
        f" {slowest:.1f} s |"
    )


def _tests(by_row: Mapping[str, Sequence[Result]]) -> str:
    found = []
    for name, results in by_row.items():
        tests = sorted({one["test"].partition("[")[0] for one in results})
        if tests:
            lines = "\n".join(
                f"  - `{test.rpartition('::')[2]}` in `{test.partition('::')[0]}`" for test in tests
            )
            found.append(f"- {name}\n{lines}")
    return "\n".join(found) + "\n"


def write(results: Sequence[Result], on: date, path: Path = PATH) -> None:
    path.write_text(text(results, on))
