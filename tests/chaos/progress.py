"""What the person at the terminal sees while it runs."""

import os
import sys
import threading
from typing import TextIO

from tests.chaos.run import Run

REDRAW_SECONDS, LINE_SECONDS = 0.5, 10.0
CLEAR = "\r\x1b[2K"
DIM, RED, PLAIN = "\x1b[2m", "\x1b[31m", "\x1b[0m"


class Progress:
    """One line that is redrawn on a terminal; plain lines, now and then, anywhere else."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self._is_live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._is_coloured = self._is_live and "NO_COLOR" not in os.environ
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def say(self, text: str) -> None:
        """Print a line that stays."""
        with self._lock:
            self._write(f"{CLEAR if self._is_live else ''}{text}\n")

    def follow(self, run: Run) -> None:
        """Show how a run stands until ``leave``."""
        self._ended.clear()
        self._thread = threading.Thread(target=self._show, args=(run,), daemon=True)
        self._thread.start()

    def leave(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(5)
            self._thread = None
        if self._is_live:
            self._write(CLEAR)

    def _show(self, run: Run) -> None:
        every = REDRAW_SECONDS if self._is_live else LINE_SECONDS
        while not self._ended.wait(every):
            with self._lock:
                text = line(run)
                if not self._is_live:
                    self._write(text + "\n")
                else:
                    width = os.get_terminal_size(self._stream.fileno()).columns
                    self._write(CLEAR + self._coloured(run, text[: width - 1]))

    def _coloured(self, run: Run, text: str) -> str:
        if not self._is_coloured:
            return text
        is_hurt = any(mark.ended is None for mark in run.chronicle.marks[-20:])
        return f"{RED if is_hurt else DIM}{text}{PLAIN}"

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def line(run: Run) -> str:
    """Return how a run stands, in one line."""
    chronicle = run.chronicle
    sample = chronicle.samples[-1] if chronicle.samples else None
    states = (sample.states if sample else {}) or {}
    shown = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    away = "database away" if sample is not None and sample.states is None else shown
    words = [f"{chronicle.now():5.0f} s", run.stage, f"{len(run.register)} accepted", away or "-"]
    words.append(f"{len(chronicle.marks)} strikes")
    if chronicle.marks:
        words.append(f"last: {chronicle.marks[-1].fault} at {chronicle.marks[-1].lane}")
    return " | ".join(words)
