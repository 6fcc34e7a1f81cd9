"""Output on the terminal: the stack's progress and, if wanted, the roles' own lines."""

import os
import threading
from typing import TextIO

COLOURS = ("36", "33", "32", "35", "34", "31", "96", "93")


class Console:
    """Writes whole lines to one stream from any thread."""

    def __init__(self, stream: TextIO | None, *, echo: bool = False) -> None:
        """Write to ``stream`` (None: nowhere); ``echo`` shows the roles' output, too."""
        self._stream = stream
        self._echo = echo
        self._coloured = bool(stream and stream.isatty() and not os.environ.get("NO_COLOR"))
        self._colours: dict[str, str] = {}
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """Report progress of the stack itself."""
        self._write(f"stack: {text}")

    def relay(self, role: str, line: str) -> None:
        """Show a line of a role's output."""
        if self._echo:
            self._write(f"{self._label(role)} {line}")

    def _label(self, role: str) -> str:
        if not self._coloured:
            return f"[{role}]"
        colour = self._colours.setdefault(role, COLOURS[len(self._colours) % len(COLOURS)])
        return f"\x1b[{colour}m[{role}]\x1b[0m"

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        with self._lock:
            try:
                self._stream.write(text + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # the reader is gone, but orders go on
                self._stream = None
