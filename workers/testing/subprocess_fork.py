"""Run code that is to be killed in a fork, and read its last message."""

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

#: A fork that runs longer than this hangs, and is killed.
LONGEST_SECONDS = 120

#: Sends a message to the parent; the last one counts.
Say = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class ForkResult:
    """How a fork ended, and its last message."""

    status: int
    message: dict[str, Any]

    @property
    def is_killed(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    @property
    def error(self) -> str:
        """Return why the fork failed; empty: it did not."""
        if self.status == 0:
            return ""
        if os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGALRM:
            return f"it did not end within {LONGEST_SECONDS} s"
        return str(self.message.get("error", f"it ended with the wait status {self.status}"))


def in_a_fork(act: Callable[[Say], None]) -> ForkResult:
    """Run a function in a fork until it ends or is killed."""
    connections.close_all()
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # The parent's other threads, if any, are the test runner's and hold no lock that we need.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _act_and_exit(act, reader, writer)
    os.close(writer)
    with os.fdopen(reader) as messages:
        lines = messages.read().splitlines()
    _, status = os.waitpid(pid, 0)
    return ForkResult(status, json.loads(lines[-1]) if lines else {})


def _act_and_exit(act: Callable[[Say], None], reader: int, writer: int) -> None:
    def say(message: dict[str, Any]) -> None:
        data = (json.dumps(message) + "\n").encode()
        while data:
            data = data[os.write(writer, data) :]

    code = 1
    try:
        os.close(reader)
        # The same backoffs in each fork, or a fork might miss points that another reached.
        random.seed(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LONGEST_SECONDS)
        act(say)
        code = 0
    except BaseException:  # noqa: BLE001 (any failure is reported)
        say({"error": traceback.format_exc()})
    finally:
        # Run none of the parent's exit handlers, and flush none of its buffers twice.
        os._exit(code)
