"""The demo's messages on the terminal, which are only recorded while the board covers it."""

import logging
from collections import deque
from datetime import datetime
from pathlib import Path
from typing import TextIO

from sasproject.stack.console import Console

MOST_MESSAGES = 20


class Voice(Console):
    """The stack's console; under a board it only records messages, for the board to show."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(stream)
        self.is_covered = False
        #: (time, text), newest last.
        self.messages: deque[tuple[datetime, str]] = deque(maxlen=MOST_MESSAGES)

    def say(self, text: str) -> None:
        self._utter("stack", text)

    def tell(self, text: str) -> None:
        """Report an action of the demo itself."""
        self._utter("demo", text)

    def _utter(self, speaker: str, text: str) -> None:
        self.messages.append((datetime.now().astimezone(), text))
        if not self.is_covered:
            self._write(f"{speaker}: {text}")


def log_to(path: Path) -> None:
    """Send this process's log to a file: on the terminal it would break the board."""
    stream = path.open("a", encoding="utf-8", buffering=1)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(stream)
