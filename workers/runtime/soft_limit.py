"""Keep the soft time limit's signal out of database writes and publishing."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from celery.exceptions import SoftTimeLimitExceeded

#: What is raised in the main thread once the soft limit has passed.
SOFT_LIMIT: type[Exception] = SoftTimeLimitExceeded


@contextmanager
def soft_limit_masked() -> Iterator[None]:
    """Block the soft limit's signal during a block; it takes effect afterwards.

    An exception inside COMMIT would leave its outcome unknown: the row may be written while the
    caller believes it was rolled back.  Does nothing outside the main thread, where Python handles
    no signals, and on platforms without this signal.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "SIGUSR1"):
        yield
        return
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def block_soft_limit() -> None:
    """Block the signal in this thread permanently.

    It is sent to the process, and the system picks any thread that does not block it; Python would
    then raise in the main thread, even if that has masked it.  Does nothing in the main thread,
    which must get it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main and hasattr(signal, "SIGUSR1"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})


@contextmanager
def soft_limit_after(seconds: float) -> Iterator[None]:
    """Raise the soft limit in the main thread after ``seconds`` within a block.

    For a call whose task has a later limit in Celery.  Does nothing outside a pool's child process,
    where there is no such limit.
    """
    if not callable(signal.getsignal(signal.SIGUSR1)):
        yield
        return
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
