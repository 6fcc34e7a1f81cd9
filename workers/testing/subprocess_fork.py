"""A process of its own for something that is to die: a fork, and what it said before."""

import json
import os
import random
import signal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connections

#: A fork that runs for longer than this hangs, and is ended.
LONGEST_SECONDS = 120

#: Writes word to the parent; the last word counts.
Say = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class ForkResult:
    """How a fork ended, and its last word."""

    status: int
    said: dict[str, Any]

    @property
    def is_killed(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    @property
    def error(self) -> str:
        """Return why it did not come to its good end; empty: it did."""
        if self.status == 0:
            return ""
        if os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGALRM:
            return f"it did not end within {LONGEST_SECONDS} s"
        return str(self.said.get("error", f"it ended with the wait status {self.status}"))


def in_a_fork(act: Callable[[Say], None]) -> ForkResult:
    """Run something in a fork until it ends or dies."""
    connections.close_all()
    source, to = os.pipe()
    with warnings.catch_warnings():
        # The parent's other threads, if any, are the test runner's and hold nothing we need.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _act_and_exit(act, source, to)
    os.close(to)
    with os.fdopen(source) as answers:
        lines = answers.read().splitlines()
    _, status = os.waitpid(pid, 0)
    return ForkResult(status, json.loads(lines[-1]) if lines else {})


def _act_and_exit(act: Callable[[Say], None], source: int, to: int) -> None:
    def say(said: dict[str, Any]) -> None:
        data = (json.dumps(said) + "\n").encode()
        while data:
            data = data[os.write(to, data) :]

    code = 1
    try:
        os.close(source)
        # Each fork the same backoffs, or one would not come by where another did.
        random.seed(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LONGEST_SECONDS)
        act(say)
        code = 0
    except BaseException:  # noqa: BLE001 (whatever it is, it is told)
        say({"error": traceback.format_exc()})
    finally:
        # Nothing of the parent's is run or written twice: no exit handlers, no buffers.
        os._exit(code)
