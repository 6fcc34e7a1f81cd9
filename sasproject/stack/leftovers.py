"""Ends what a stack that was killed has left running in its run folder."""

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

    Only for the holder of the folder's lock: then no living stack owns these processes.
    They are recognised by what Linux tells of them; elsewhere none are found.
    """
    found = processes.marked(run_dir)
    for order in (signal.SIGTERM, signal.SIGKILL):
        remaining = processes.marked(run_dir)
        for pid in remaining:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, order)
        if _until(lambda: not processes.marked(run_dir), patience):
            return len(found)
    raise StackError(
        f"Processes of an earlier stack in {run_dir} do not end: {processes.marked(run_dir)}. "
        "End them by hand and start again."
    )


def _until(true: Callable[[], bool], seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while not true():
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True
