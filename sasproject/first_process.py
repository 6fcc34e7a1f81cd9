"""Being the first process of a container, whose signals the kernel drops until it handles them."""

import os
import signal
import sys
import threading
from types import FrameType


def end(_signum: int, _frame: FrameType | None) -> None:
    """End as a process does that SIGTERM kills."""
    sys.exit(128 + signal.SIGTERM)


def end_while_it_imports() -> None:
    """Have SIGTERM end process 1 although it still imports, which takes seconds on a busy machine.

    Workers, Beat and commands that go on for long have handlers of their own later.
    """
    if os.getpid() != 1 or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
