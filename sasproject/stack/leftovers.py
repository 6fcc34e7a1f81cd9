"""Ends the processes that a killed stack has left in its run folder."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from sasproject.stack import processes
from sasproject.stack.exceptions import StackError


def end(run_dir: Path, *, patience: float = 5.0) -> int:
    """End every process that a stack in ``run_dir`` started; return how many there were.

    Only for the holder of the folder's lock: then no running stack owns these processes.
    They are recognised through /proc; on systems without it none are found.
    """
    pids = processes.marked(run_dir)
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        remaining = processes.marked(run_dir)
        for pid in remaining:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal_number)
        if _until(lambda: not processes.marked(run_dir), patience):
            return len(pids)
    raise StackError(
        f"Processes of an earlier stack in {run_dir} do not end: {processes.marked(run_dir)}. "
        "End them by hand and start again."
    )


def _until(condition: Callable[[], bool], seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True
