"""What the demo says on the terminal, and where it goes while the board covers it."""

import logging
from collections import deque
from datetime import datetime
from pathlib import Path
from typing import TextIO

from sasproject.stack.console import Console

REMEMBERED = 20


class Voice(Console):
    """The stack's console; under a board it only remembers, for the board to show."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(stream)
        self.is_covered = False
        #: (when, what), newest last.
        self.said: deque[tuple[datetime, str]] = deque(maxlen=REMEMBERED)

    def say(self, text: str) -> None:
        self._utter("stack", text)

    def tell(self, text: str) -> None:
        """Report what the demo itself does."""
        self._utter("demo", text)

    def _utter(self, who: str, text: str) -> None:
        self.said.append((datetime.now().astimezone(), text))
        if not self.is_covered:
            self._write(f"{who}: {text}")


def log_to(path: Path) -> None:
    """Send this process's log to a file: a warning would tear the board."""
    stream = path.open("a", encoding="utf-8", buffering=1)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(stream)
