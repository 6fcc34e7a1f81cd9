"""How a demo is ended from outside: Ctrl-C, SIGTERM, a closed terminal."""

import signal
import sys
from types import FrameType

from sasproject.stack.runner import Runner


class DemoStopped(Exception):
    """The demo was told to end before it could say what came of it."""


class Ending:
    """Takes the signals and remembers them; the run looks when it is safe to.

    Plain attributes: a lock may be held by the very code that a signal interrupts.
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
        """From now on there is something to be ended."""
        self._runner = runner

    def begin_run(self) -> None:
        """From now on the run itself ends what is to be ended."""
        self._is_running = True

    def begin_stop(self) -> None:
        """From now on a signal means: at once."""
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
