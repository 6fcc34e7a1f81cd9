"""Handles the signals that end a demo: Ctrl-C, SIGTERM, a closed terminal."""

import signal
import sys
from types import FrameType

from sasproject.stack.runner import Runner


class DemoStopped(Exception):
    """The demo was stopped before it could report its results."""


class Ending:
    """Records signals; the run checks for them when it is safe.

    Uses plain attributes, because the interrupted code may hold any lock.
    """

    def __init__(self) -> None:
        self.interrupts = 0
        self.is_terminated = False
        self._runner: Runner | None = None
        self._is_running = False

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self)

    def begin_start(self, runner: Runner) -> None:
        """From now on a signal stops the stack."""
        self._runner = runner

    def begin_run(self) -> None:
        """From now on the run itself reacts to signals."""
        self._is_running = True

    def begin_stop(self) -> None:
        """From now on a repeated signal stops the stack at once."""
        self._is_running = False

    @property
    def is_wanted(self) -> bool:
        return self.is_terminated or self.interrupts > 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._runner is None:
            sys.exit(1)
        is_repeated = self.is_wanted
        if number == signal.SIGINT:
            self.interrupts += 1
        else:
            self.is_terminated = True
        if not self._is_running:
            self._runner.request_stop(at_once=is_repeated)
