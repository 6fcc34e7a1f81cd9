"""Single keys from the terminal, without waiting for Enter."""

import contextlib
import os
import select
import sys
import termios
import tty
from typing import Any, Self, TextIO

#: What a key that is gone stands for: the terminal was closed.
GONE = "q"


class Keys:
    """Reads what was typed; nothing where the input is no terminal.

    The terminal is as before once the block ends.  Ctrl-C stays a signal.
    """

    def __init__(self, stream: TextIO = sys.stdin) -> None:
        self._fd = _terminal(stream)
        self._before: list[Any] | None = None

    @property
    def are_there(self) -> bool:
        return self._fd is not None

    def __enter__(self) -> Self:
        if self._fd is not None:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None and self._before is not None:
            with contextlib.suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def read(self) -> str:
        """Return the keys pressed since the last time, in order, as lower-case letters."""
        if self._fd is None or not select.select([self._fd], [], [], 0)[0]:
            return ""
        try:
            raw = os.read(self._fd, 64)
        except OSError:
            raw = b""
        if not raw:
            self._fd = None
            return GONE
        # An arrow or function key is a sequence that begins with Escape and means nothing here.
        typed = "" if raw.startswith(b"\x1b") else raw.decode("ascii", "ignore")
        return typed.lower()


def _terminal(stream: TextIO) -> int | None:
    try:
        return stream.fileno() if stream.isatty() else None
    except (OSError, ValueError):  # closed, or no file at all
        return None
