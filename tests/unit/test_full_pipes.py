"""A log pipe that nobody reads freezes no process of ours, and is noticed in a guest's."""

import contextlib
import fcntl
import logging
import os
import threading
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from tests import programs
from workers import alive, logs


@pytest.fixture
def pipe() -> Iterator[tuple[int, Any]]:
    """Return a pipe's end to read, and a stream that writes to the other."""
    reader, writer = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 16_384)
    stream = open(writer, "w", encoding="utf-8")  # noqa: SIM115 (closed below, whatever is in it)
    yield reader, stream
    os.close(reader)
    with contextlib.suppress(BrokenPipeError):
        stream.close()


def fill(handler: logging.Handler, count: int) -> threading.Thread:
    """Log that many lines from a thread, which may wait for good."""
    logger = logging.Logger("acme")
    logger.addHandler(handler)

    def write() -> None:
        for number in range(count):
            logger.warning("%s %s", number, "x" * 1000)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def test_lines_are_dropped_and_counted_while_nobody_reads(pipe, monkeypatch):
    monkeypatch.setattr(logs, "WAIT_SECONDS", 0.05)
    reader, stream = pipe
    handler = logs.DroppingHandler(stream)
    handler.setFormatter(logs.Formatter())

    thread = fill(handler, 50)
    thread.join(20)

    assert not thread.is_alive()
    read = os.read(reader, 65_536).decode()
    fill(handler, 1).join(20)
    read += os.read(reader, 65_536).decode()
    whole = [line for line in read.splitlines() if line.endswith("x" * 1000)]
    (says,) = [line for line in read.splitlines() if "log_lines_dropped" in line]
    # The one after the pause, too.
    assert says == f"log_lines_dropped lines={51 - len(whole)}"


def test_a_long_line_is_cut_where_the_pipe_is_full(pipe, monkeypatch):
    monkeypatch.setattr(logs, "WAIT_SECONDS", 0.05)
    reader, stream = pipe
    handler = logs.DroppingHandler(stream)
    logger = logging.Logger("acme")
    logger.addHandler(handler)

    logger.warning("%s", "é" * 50_000)
    assert set(os.read(reader, 65_536).decode()) == {"é"}
    logger.warning("next")

    assert os.read(reader, 65_536).decode() == "\nlog_lines_dropped\nnext\n"


def test_a_guest_whose_handler_waits_is_not_alive(pipe, monkeypatch, tmp_path):
    reader, stream = pipe
    handler = logging.StreamHandler(stream)
    monkeypatch.setattr(logging.root, "handlers", [handler])
    assert not logs.is_stuck()
    thread = fill(handler, 50)
    thread.join(0.5)
    assert thread.is_alive()
    assert logs.is_stuck()

    file = tmp_path / "alive"
    file.write_text("worker 1\n")
    os.utime(file, (1000, 1000))
    rounds = iter([None])

    class Over(BaseException):
        pass

    def sleep(_seconds: float) -> None:
        try:
            next(rounds)
        except StopIteration:
            raise Over from None

    # Threads of other tests sleep on.
    monkeypatch.setattr(alive, "time", Mock(wraps=time, sleep=sleep))
    with pytest.raises(Over):
        alive._mark(file, "worker", logs.is_stuck)
    assert file.stat().st_mtime == 1000

    os.set_blocking(reader, False)
    while thread.is_alive():
        with contextlib.suppress(BlockingIOError):
            os.read(reader, 65_536)
    with contextlib.suppress(BlockingIOError):
        os.read(reader, 65_536)
    assert not logs.is_stuck()


def test_the_shop_logs_so():
    source = "from sasproject import logs; logs.configure(json=True, level='INFO');"
    source += "import logging; print(type(logging.root.handlers[0]).__name__)"
    done = programs.python("-c", source, seconds=60, check=True)
    assert done.stdout.strip() == "DroppingHandler"
