"""SIGTERM for the first process of a container, to which the kernel sends only handled signals."""

import os
import signal
import sys
import threading
from types import FrameType


def end(_signum: int, _frame: FrameType | None) -> None:
    """Exit with the code of a process that SIGTERM kills."""
    sys.exit(128 + signal.SIGTERM)


def end_while_it_imports() -> None:
    """Make SIGTERM end process 1 during its imports, which take seconds on a busy machine.

    Workers, Beat and long-running commands install handlers of their own later.
    """
    if os.getpid() != 1 or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
