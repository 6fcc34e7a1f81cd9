"""The page on chaos names every fault, scenario and option there is, and no other."""

import re
from pathlib import Path

import pytest

from tests.chaos.faults import CATALOGUE
from tests.chaos.options import parse
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.system import ROOT

PAGE = (ROOT / "docs/how-to/run-chaos.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[str]:
    """Return the first column of the table in a section."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def test_every_fault_is_explained() -> None:
    assert sorted(rows("The faults")) == sorted(CATALOGUE)


def test_every_scenario_is_explained() -> None:
    assert rows("The scenarios") == list(SCENARIOS)


def test_every_option_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"], dict.fromkeys(SCENARIOS, ""))
    known = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert set(rows("The verdict")) == known


def test_make_runs_it() -> None:
    makefile = (Path(ROOT) / "Makefile").read_text(encoding="utf-8")
    assert "-m tests.chaos $(ARGS)" in makefile
