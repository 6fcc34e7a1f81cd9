"""The page of all guards, written by the run that took each of them away."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from tests.mutants.mutant import ROOT
from tests.mutants.running import Outcome

PATH = ROOT / "proofs/mutants.md"

_HEAD = """\
# Guards and the tests that hold them

Written by `make mutants`; do not edit it.

Each row is a guard of the code.
The run took it away in a copy of the tree, one at a time, and ran tests until one went red.
With the guard in place the same test is green.
`tests/mutants/` has the exact text of each guard and of what replaced it.

Last run: {date}, {count} guards, {count} found missing.

| guard | where | what cannot happen while it is there | red without it | database |
|---|---|---|---|---|
"""


def text(outcomes: Sequence[Outcome], on: date) -> str:
    """Return the page."""
    rows = [
        f"| {one.mutant.guard} | `{one.mutant.file}` | {one.mutant.prevents} |"
        f" {_test(one.red[0])} | {one.mutant.on} |"
        for one in outcomes
    ]
    head = _HEAD.format(date=on.isoformat(), count=len(outcomes))
    return head + "\n".join(rows) + "\n"


def write(outcomes: Sequence[Outcome], on: date, path: Path = PATH) -> None:
    path.write_text(text(outcomes, on))


def _test(test: str) -> str:
    path, _, name = test.partition("::")
    # Of a class and a parameter the page says nothing.
    return f"`{name.rpartition('::')[2].partition('[')[0]}` in `{path}`"
