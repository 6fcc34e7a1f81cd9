"""The page says what was run, and nothing more."""

import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.fault_matrix import page, plugin
from tests.fault_matrix.rows import ROWS

_MARK = re.compile(r"mark\.fault\(\s*\"(F\d+)\"")


def result(row: str, outcome: str = "passed", **more: Any) -> dict[str, Any]:
    plain = {"test": "tests/x.py::test_y[a]", "seconds": 1.25, "database": "SQLite"}
    return {"row": row, "outcome": outcome, "broker": "Redis", **plain, **more}


def test_rows_are_numbered_without_a_gap():
    assert [row.id for row in ROWS] == [f"F{n}" for n in range(1, 43)]


def test_every_mark_names_a_row():
    known = {row.id for row in ROWS}
    for path in sorted(Path(page.ROOT, "tests").rglob("test_*.py")):
        found = set(_MARK.findall(path.read_text()))
        assert found <= known, path


def test_a_row_shows_its_runs_and_where():
    found = [result("F1"), result("F1", database="PostgreSQL", seconds=2.5)]
    text = page.text(found, date(2026, 3, 1))

    assert "| PostgreSQL, Redis; SQLite, Redis | 2 good | 2.5 s |" in text
    assert "- F1\n  - `test_y` in `tests/x.py`" in text
    assert "Last run: 2026-03-01.\n1 of 42 rows have a test; 2 runs, 0 failed, 0 skipped." in text


def test_what_failed_and_what_nothing_shows_is_said():
    text = page.text([result("F1", "failed"), result("F2", "skipped")], date(2026, 3, 1))
    lines = {line.split(" | ")[0]: line for line in text.splitlines()}

    assert "**1 of 1 failed**" in lines["| F1"]
    assert "its tests were skipped | 0 |" in lines["| F2"]
    assert "**no test yet** | 0 |" in lines["| F3"]
    assert "1 of 42 rows have a test; 1 runs, 1 failed, 1 skipped." in text


@pytest.mark.volume
def test_the_plugin_notes_what_marked_tests_came_to(tmp_path):
    results = tmp_path / "results.jsonl"
    test = "tests/clients/test_faults.py::test_a_status_decides_the_kind_of_fault"
    words = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.fault_matrix.plugin",
        "-p",
        "no:cacheprovider",
        test,
    ]
    environment = {**os.environ, "FAULT_RESULTS": str(results)}
    subprocess.run([sys.executable, *words], cwd=page.ROOT, env=environment, check=True)

    found = [json.loads(line) for line in results.read_text().splitlines()]
    assert {(one["row"], one["outcome"], one["broker"]) for one in found} == {
        ("F24", "passed", "in memory")
    }
    assert all(one["test"].startswith(test) for one in found)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("test_x[postgresql+rabbitmq]", "PostgreSQL"), ("test_x[12]", None), ("test_sqlite", None)],
)
def test_a_parameter_says_which_database_a_system_had(name, shown):
    assert plugin.named(name, plugin.DATABASES) == shown
