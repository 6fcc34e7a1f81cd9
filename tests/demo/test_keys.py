"""Keys: read one by one, the terminal left as it was found."""

import io
import os
import pty
import termios
from collections.abc import Iterator
from typing import TextIO

import pytest

from sasproject.demo.keys import Keys


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    ours, theirs = pty.openpty()
    with open(theirs, encoding="ascii") as stream:
        yield ours, stream
        os.close(ours)


def test_keys_come_at_once_and_in_order(terminal):
    ours, stream = terminal
    with Keys(stream) as keys:
        assert keys.are_there
        assert keys.read() == ""
        os.write(ours, b"kP")
        assert keys.read() == "kp"
        assert keys.read() == ""


def test_an_arrow_key_means_nothing(terminal):
    ours, stream = terminal
    with Keys(stream) as keys:
        os.write(ours, b"\x1b[B")
        assert keys.read() == ""


def test_the_terminal_is_left_as_it_was_found(terminal):
    _, stream = terminal
    before = termios.tcgetattr(stream.fileno())
    with Keys(stream):
        flags = termios.tcgetattr(stream.fileno())[3]
        assert not flags & termios.ICANON
        # Ctrl-C stays a signal.
        assert flags & termios.ISIG
    assert termios.tcgetattr(stream.fileno()) == before


def test_a_terminal_that_was_closed_means_the_end():
    reading, writing = os.pipe()
    os.close(writing)

    class Closed(io.StringIO):
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            return reading

    keys = Keys(Closed())
    assert keys.read() == "q"
    assert keys.read() == ""
    os.close(reading)


def test_without_a_terminal_there_are_no_keys():
    with Keys(io.StringIO("kkk")) as keys:
        assert not keys.are_there
        assert keys.read() == ""
