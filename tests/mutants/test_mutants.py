"""Every mutant still applies: its text is there, once, and so are the tests that find it."""

from datetime import date
from pathlib import Path

import pytest

from tests.mutants import page, running
from tests.mutants.mutant import MUTANTS, ROOT, Mutant
from tests.mutants.running import Outcome


def test_each_guard_has_a_name_of_its_own():
    assert len({mutant.guard for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.guard)
def test_a_mutant_applies(mutant):
    assert mutant.count() == 1, f"{mutant.file}: give the text that is there now"
    assert mutant.old != mutant.new


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.guard)
def test_the_tests_of_a_mutant_are_there(mutant):
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        assert not name or f"def {name.partition('[')[0]}(" in Path(ROOT, path).read_text(), test


def test_the_page_names_each_guard_and_the_test_that_held_it():
    mutant = Mutant("lease", "a.py", "x", "y", "Two sweep.", ())
    outcome = Outcome(mutant, ("tests/t.py::TestLease::test_one_has_it[now]",), 2.0, "")

    text = page.text([outcome], date(2026, 3, 1))

    assert "Last run: 2026-03-01, 1 guards, 1 found missing." in text
    assert "| lease | `a.py` | Two sweep. | `test_one_has_it` in `tests/t.py` | SQLite |" in text


def test_a_test_that_could_not_begin_is_not_red():
    said = "ERROR tests/t.py::test_a - no database\nFAILED tests/t.py::test_b[x] - assert 1\n"

    assert running.failed(said) == ["tests/t.py::test_b[x]"]


def test_a_text_that_is_not_there_once_is_refused():
    mutant = Mutant("x", "y.py", "a", "b", "", ())

    assert mutant.applied("cad") == "cbd"
    for text in ("", "aa"):
        with pytest.raises(ValueError, match="not once"):
            mutant.applied(text)
