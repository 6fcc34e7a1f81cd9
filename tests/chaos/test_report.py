"""The report: everything of a run on one page, which nothing in it can break."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.chaos import report
from tests.chaos.accepted import Accepted, Register
from tests.chaos.chronicle import Chronicle, Mark, Sample
from tests.chaos.faults import CATALOGUE
from tests.chaos.report import charts
from tests.chaos.report.charts import Scale
from tests.chaos.run import Outcome, Plan
from tests.chaos.scenarios.bound import Bound
from tests.chaos.verdict import Verdict


@pytest.fixture
def outcome(tmp_path) -> Outcome:
    chronicle = Chronicle(
        marks=[
            Mark("kill", "agents-1", "kill -9 of <agents-1> & more", 2.0),
            Mark("database-crash", "postgresql", "immediate restart", 4.0, 6.5),
        ],
        lanes={"agents-1": [(0.0, "up"), (2.0, "down"), (3.0, "up")], "postgresql": [(0.0, "up")]},
        samples=[
            Sample(1.0, {"pending": 3}, 3, 100.0, 5),
            Sample(4.5, {"pending": 1, "processed": 2}, 4, 110.0, 6),
            Sample(5.0, None, 4),
            Sample(7.0, {"processed": 4}, 4, 105.0, 6),
            Sample(9.0, {"processed": 4}, 4, 105.0, 6),
        ],
    )
    faults = (CATALOGUE["kill"], CATALOGUE["database-crash"])
    register = Register(tmp_path / "accepted.jsonl")
    register.add(Accepted("a", 1, "http", 0.2))
    register.close()
    verdict = Verdict(4, 0, 0, 0, 0, {"processed": 4}, {"kill": 1, "database-crash": 1})
    plan = Plan("postgresql+rabbitmq", 7, 8.0, faults, 4)
    return Outcome(plan, chronicle, verdict, register, {"processed": 4}, 2, {}, 8.0, 9.0)


def written(folder: Path, outcome: Outcome, *failings: str) -> str:
    bounds = [Bound("all ended", 9.0, 8.0, "s"), Bound("seen", None, 1.0)]
    report.write(folder / "new" / "report", "a <title>", outcome, bounds, list(failings))
    return (folder / "new" / "report" / "report.html").read_text()


def test_the_page_shows_the_verdict_the_marks_and_the_numbers(tmp_path, outcome):
    page = written(tmp_path, outcome)
    assert "Everything held" in page
    assert "seed 7" in page
    for said in ("kill -9 of &lt;agents-1&gt; &amp; more", "agents-1 down from 2.0 s to 3.0 s"):
        assert said in page
    assert page.count('class="broken">missed') == 2


def test_a_broken_promise_is_what_the_page_begins_with(tmp_path, outcome):
    page = written(tmp_path, outcome, "2 accepted <orders> are lost")
    assert "Not everything held" in page
    assert "2 accepted &lt;orders&gt; are lost" in page


def test_the_page_needs_nothing_from_elsewhere_and_its_pictures_are_sound(tmp_path, outcome):
    page = written(tmp_path, outcome)
    assert not re.search(r"https?:|url\(|@import|<script|<link|<img", page)
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == 3
    for picture in pictures:
        ElementTree.fromstring(picture)
    assert "prefers-color-scheme: dark" in page


def test_the_data_are_those_of_the_run(tmp_path, outcome):
    written(tmp_path, outcome)
    found = json.loads((tmp_path / "new" / "report" / "report.json").read_text())
    assert (found["seed"], found["pair"], found["holds"]) == (7, "postgresql+rabbitmq", True)
    assert [mark["began"] for mark in found["marks"]] == [2.0, 4.0]
    assert found["samples"][2]["states"] is None
    assert [bound["holds"] for bound in found["bounds"]] == [False, False]
    assert found["slowest_acceptance"] == 0.2


def test_where_the_database_was_away_there_is_a_gap_and_no_line():
    states = {"processed": 1}
    samples = [
        {"at": float(at), "states": None if at == 2 else states, "accepted": 1} for at in range(5)
    ]
    drawn = charts.pile(samples, Scale(4.0), 0, 100)
    assert drawn.count("<polygon") == 2
