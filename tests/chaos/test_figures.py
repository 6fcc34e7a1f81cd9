"""The page of figures says all that the runs said."""

import json
import os
from typing import Any

import pytest

from tests.chaos import figures

GOOD: dict[str, Any] = {
    "day": "2026-01-03", "scenario": "n1",
    "pair": "postgresql+rabbitmq", "seed": 2, "accepted": 100, "lost": 0,
    "duplicate_effects": 0, "violations": 0, "strikes": {"kill": 3, "kill-child": 4},
    "bounds": ["held: all ended: 60 s, bound <= 90 s"], "failings": [], "gaps": [],
}  # fmt: skip
BAD = {
    **GOOD, "seed": 1, "lost": 1, "bounds": ["MISSED: all ended: 99 s, bound <= 90 s"],
    "failings": ["MISSED: all ended: 99 s, bound <= 90 s", "run: an order | is lost"],
}  # fmt: skip
SWEEP = {
    "day": "2026-01-02", "scenario": "n14",
    "pair": "sqlite+filesystem", "seed": 3, "failings": [], "gaps": [],
    "bounds": ["held: a sweep: 1 s, bound <= 2 s"],
}  # fmt: skip


def test_every_run_is_a_row_and_what_was_missed_stands_out():
    page = figures.text([SWEEP, GOOD, BAD])

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


def test_a_run_without_a_verdict_is_named(tmp_path, capsys):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(f"some words\n{json.dumps({**GOOD, 'holds': True})}\n")
    bad.write_text("cannot run\n")
    third_of_january = 1_767_400_000
    os.utime(good, (third_of_january, third_of_january))

    assert figures.read([good, bad]) == [GOOD]
    assert "bad: no verdict" in capsys.readouterr().err
    assert figures.main([str(bad)], tmp_path / "record", tmp_path / "page") == 2
    assert not (tmp_path / "record").exists()


def test_runs_are_added_to_those_before_and_none_twice(tmp_path):
    record, page = tmp_path / "record", tmp_path / "page"
    record.write_text(json.dumps(SWEEP) + "\n")
    good = tmp_path / "good"
    good.write_text(json.dumps(GOOD))

    for _ in range(2):
        assert figures.main([str(good)], record, page) == 0

    assert [one["scenario"] for one in figures.recorded(record)] == ["n14", "n1"]
    assert "\n2 runs, 100 orders accepted" in page.read_text()


def test_the_page_is_what_the_record_says():
    assert figures.PATH.read_text() == figures.text(figures.recorded(figures.RECORD))


def test_a_file_that_is_not_there_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        figures.main([str(tmp_path / "gone")], tmp_path / "record", tmp_path / "page")
    assert ended.value.code == 2
    assert "FILE must be what a run printed, got" in capsys.readouterr().err
    assert not (tmp_path / "record").exists()
