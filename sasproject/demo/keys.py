"""Single keys from the terminal, without waiting for Enter."""

import contextlib
import os
import select
import sys
import termios
import tty
from typing import Any, Self, TextIO

#: The key that a closed terminal stands for.
CLOSED = "q"


class Keys:
    """Reads typed keys; none if the input is not a terminal.

    The terminal's mode is restored when the block ends.  Ctrl-C stays a signal.
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
        """Return the keys pressed since the last call, in order, as lower-case letters."""
        if self._fd is None or not select.select([self._fd], [], [], 0)[0]:
            return ""
        try:
            raw = os.read(self._fd, 64)
        except OSError:
            raw = b""
        if not raw:
            self._fd = None
            return CLOSED
        # Arrow and function keys are sequences that begin with Escape: ignore them.
        text = "" if raw.startswith(b"\x1b") else raw.decode("ascii", "ignore")
        return text.lower()


def _terminal(stream: TextIO) -> int | None:
    try:
        return stream.fileno() if stream.isatty() else None
    except (OSError, ValueError):  # closed, or not a file
        return None
