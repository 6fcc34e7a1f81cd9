"""The page of figures says all that the runs said."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import figures

GOOD: dict[str, Any] = {
    "scenario": "n1", "pair": "postgresql+rabbitmq", "seed": 2, "accepted": 100, "lost": 0,
    "duplicate_effects": 0, "violations": 0, "strikes": {"kill": 3, "kill-child": 4},
    "bounds": ["held: all ended: 60 s, bound <= 90 s"], "failings": [], "gaps": [],
}  # fmt: skip
BAD = {
    **GOOD, "seed": 1, "lost": 1, "bounds": ["MISSED: all ended: 99 s, bound <= 90 s"],
    "failings": ["MISSED: all ended: 99 s, bound <= 90 s", "run: an order | is lost"],
}  # fmt: skip
SWEEP = {
    "scenario": "n14", "pair": "sqlite+filesystem", "seed": 3, "failings": [], "gaps": [],
    "bounds": ["held: a sweep: 1 s, bound <= 2 s"],
}  # fmt: skip
DAY = date(2026, 1, 2)


def test_every_run_is_a_row_and_what_was_missed_stands_out() -> None:
    page = figures.text([SWEEP, GOOD, BAD], DAY, DAY)

    assert (
        "3 runs, 200 orders accepted, 14 strikes: 1 lost, 0 effects twice, 0 violations; "
        "1 bounds missed." in page
    )
    rows = page.splitlines()[-3:]
    assert rows[0] == (
        "| n1 | PostgreSQL, RabbitMQ | 1 | 100 | 7 | 1 | 0 | 0 "
        "| **MISSED**: all ended: 99 s, bound <= 90 s<br>an order | is lost |"
    ).replace("order | is", "order \\| is")
    assert rows[1].startswith("| n1 | PostgreSQL, RabbitMQ | 2 | 100 | 7 | 0 | 0 | 0 | all ended")
    assert rows[2] == "| n14 | SQLite, files | 3 |  |  |  |  |  | a sweep: 1 s, bound <= 2 s |"


def test_a_run_without_a_verdict_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(f"some words\n{json.dumps(GOOD)}\n")
    bad.write_text("cannot run\n")

    assert figures.read([good, bad]) == [GOOD]
    assert "bad: no verdict" in capsys.readouterr().err
    assert figures.main([str(bad)]) == 2
