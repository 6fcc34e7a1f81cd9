"""What is shown while it runs: one line on a terminal, plain lines anywhere else."""

import io
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, TextIO

import pytest

from tests.chaos import progress
from tests.chaos.chronicle import Chronicle, Sample
from tests.chaos.progress import Progress, line


def run_with(*samples: Sample) -> Any:
    return SimpleNamespace(
        chronicle=Chronicle(samples=list(samples)), stage="faults strike", register=[1, 2, 3]
    )


@pytest.fixture
def terminal(monkeypatch) -> Iterator[tuple[TextIO, int]]:
    """Yield a terminal to write to, and where what was written can be read."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    reader, writer = os.openpty()
    with os.fdopen(writer, "w") as stream:
        yield stream, reader
    os.close(reader)


def shown(run: Any, stream: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a run shown until it has been drawn once."""
    monkeypatch.setattr(progress, "REDRAW_SECONDS", 0.01)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.01)
    seen = Progress(stream)
    drawn = seen._write
    calls: list[str] = []

    def write(text: str) -> None:
        drawn(text)
        calls.append(text)
        seen._ended.set()

    monkeypatch.setattr(seen, "_write", write)
    seen.follow(run)
    assert seen._thread is not None
    seen._thread.join(10)
    assert calls


def test_a_line_says_how_it_stands():
    run = run_with(Sample(1.0, {"processed": 2, "pending": 1}, 3))
    assert line(run).endswith("| faults strike | 3 accepted | 1 pending, 2 processed | 0 strikes")
    run.chronicle.strike("kill", "agents-1", "kill -9")
    assert line(run).endswith("| 1 strikes | last: kill at agents-1")


def test_a_line_says_that_the_database_is_away():
    assert "| database away |" in line(run_with(Sample(1.0, None, 3)))


def test_before_anything_runs_there_is_a_line_too():
    assert "| 3 accepted | - | 0 strikes" in line(run_with())


def test_a_terminal_gets_one_line_that_is_drawn_again(terminal, monkeypatch):
    stream, reader = terminal
    shown(run_with(), stream, monkeypatch)
    text = os.read(reader, 4096).decode()
    assert text.startswith(progress.CLEAR + progress.DIM)
    assert "\n" not in text


def test_a_terminal_without_colours_gets_none(terminal, monkeypatch):
    stream, reader = terminal
    monkeypatch.setenv("NO_COLOR", "1")
    shown(run_with(), stream, monkeypatch)
    text = os.read(reader, 4096).decode().removeprefix(progress.CLEAR)
    assert "\x1b" not in text
    assert "3 accepted" in text


def test_a_file_gets_plain_lines(monkeypatch):
    stream = io.StringIO()
    shown(run_with(), stream, monkeypatch)
    assert stream.getvalue().endswith("0 strikes\n")
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()
