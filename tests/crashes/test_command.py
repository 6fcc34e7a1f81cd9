"""The command behind `make crashes`: what it says of itself, and of a run that showed nothing."""

import pytest

from tests.crashes import __main__ as command


def test_asked_for_help_it_kills_nobody(capsys, monkeypatch):
    monkeypatch.setattr(command, "_run", lambda *_: pytest.fail("it ran"))
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"])
    assert ended.value.code == 0
    assert "Kills a process at every named point" in capsys.readouterr().out


def test_other_words_are_pytest_s(monkeypatch):
    given: list[list[str]] = []
    monkeypatch.setattr(command, "_run", lambda _, __, words: given.append(words) or 0)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///crashes.sqlite3")
    assert command.main(["-k", "refund", "-x"]) == 0
    assert given == [["-k", "refund", "-x"]]


@pytest.mark.parametrize(
    ("code", "crashes", "says"),
    [(0, 189, ("all healed", 0)), (0, 0, ("nothing was killed", 1)), (5, 0, ("FAILED", 5))],
)
def test_a_run_without_a_crash_shows_nothing(code, crashes, says):
    assert command._verdict(code, crashes) == says
