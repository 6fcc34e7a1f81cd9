"""A role's output: every line goes to its log file, the last ones are kept for errors."""

import logging
from collections import deque
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

from sasproject.stack.console import Console

LOG_BYTES = 10 * 1024 * 1024
LINE_BYTES = 64 * 1024
TAIL_LINES = 20


class RoleLog:
    """Logs the lines of one role, over all its restarts."""

    def __init__(self, role: str, folder: Path, console: Console) -> None:
        self.path = folder / f"{role}.log"
        self._role = role
        self._console = console
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._file = RotatingFileHandler(
            self.path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
        )

    def drain(self, pipe: IO[bytes], watch: "LineWatch") -> None:
        """Log lines until the other end of ``pipe`` is closed."""
        with pipe:
            # Bounded, so that output without line ends does not fill the memory.
            while raw := pipe.readline(LINE_BYTES):
                line = raw.decode("utf-8", errors="replace").rstrip()
                watch.look(line)
                self._tail.append(line)
                self._file.handle(logging.makeLogRecord({"msg": line}))
                self._console.relay(self._role, line)

    def tail(self) -> str:
        return "\n".join(self._tail)

    def close(self) -> None:
        self._file.close()


class LineWatch:
    """Detects the line by which a process reports that it is ready."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.seen = not text

    def look(self, line: str) -> None:
        if self._text and self._text in line:
            self.seen = True
