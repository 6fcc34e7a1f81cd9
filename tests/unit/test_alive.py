"""The file by which a probe sees that a process lives."""

import os
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from workers import alive


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "alive"
    monkeypatch.setenv(alive.VARIABLE, str(path))
    return path


def marked(path: Path, at: float, role: str = "worker") -> str:
    path.write_text(f"{role} 17\n")
    os.utime(path, (at, at))
    return str(path)


@pytest.mark.parametrize(
    ("age", "says"),
    [(0, ""), (20, ""), (20.5, "marked"), (3600, "3600 s ago: it is frozen or gone")],
)
def test_a_process_lives_that_marked_its_file_of_late(file, age, says):
    said = alive.problem("worker", marked(file, 1000), 1000 + age)
    assert says in said
    assert bool(said) is bool(says)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (None, "SAS_ALIVE_FILE must name the file"),
        ("", "SAS_ALIVE_FILE must name the file"),
        ("/nowhere/at/all", "No such file or directory. Is the beat running?"),
    ],
)
def test_without_a_file_it_does_not(name, says):
    assert says in alive.problem("beat", name)


def test_the_file_of_another_role_proves_nothing(file):
    said = alive.problem("beat", marked(file, 1000), 1000)
    assert "must be written by a beat, got one of a 'worker'" in said


def test_a_process_marks_its_file_again_and_makes_it_anew(file, monkeypatch):
    rounds = iter([None, file.unlink, None])
    seen: list[float] = []

    class Over(BaseException):
        pass

    def sleep(seconds: float) -> None:
        assert seconds < alive.SILENT_SECONDS
        if file.exists():
            seen.append(file.stat().st_mtime)
        try:
            act = next(rounds)
        except StopIteration:
            raise Over from None
        if file.exists():
            os.utime(file, (1000, 1000))
        if act:
            act()

    started: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        started.append(thread)

    # Threads of other tests sleep on.
    monkeypatch.setattr(alive, "time", Mock(wraps=time, sleep=sleep))
    monkeypatch.setattr(threading.Thread, "start", start)
    alive.keep("worker")

    (thread,) = started
    assert thread.daemon
    with pytest.raises(Over):
        thread._target(*thread._args)  # type: ignore[attr-defined]
    assert len(seen) == 4
    assert min(seen) > 1000
    assert alive.problem("worker", str(file)) == ""


def test_without_a_name_nothing_is_written_and_no_thread_runs(monkeypatch):
    monkeypatch.delenv(alive.VARIABLE, raising=False)
    before = threading.active_count()
    alive.keep("worker")
    assert threading.active_count() == before


def test_a_file_that_cannot_be_written_ends_the_process(monkeypatch):
    monkeypatch.setenv(alive.VARIABLE, "/nowhere/at/all")
    with pytest.raises(SystemExit, match="must name a file that this process may write, got '/no"):
        alive.keep("worker")


@pytest.mark.parametrize("words", [[], ["agent"], ["worker", "beat"]])
def test_a_wrong_call_is_no_answer(words, capsys):
    assert alive.main(words) == 2
    assert capsys.readouterr().err.startswith("usage: python -m workers.alive {worker,beat,")


def test_a_probe_gets_its_answer_as_an_exit_code(file, capsys):
    assert alive.main(["worker"]) == 1
    assert "Is the worker running?" in capsys.readouterr().err
    file.write_text("worker 17\n")
    assert alive.main(["worker"]) == 0
    assert capsys.readouterr() == ("", "")
