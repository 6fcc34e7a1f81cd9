"""Keeping the soft time limit's signal out of database writes and publishes."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def soft_limit_masked() -> Iterator[None]:
    """Hold the soft limit's signal back for the time of a block; it strikes after it.

    An exception raised inside COMMIT would leave the outcome unknown: the row may be
    written while the caller believes it was rolled back.  Does nothing outside the main
    thread, where no signal is handled, and where the platform has no such signal.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "SIGUSR1"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def block_soft_limit() -> None:
    """Keep the signal from this thread for good.

    It is sent to the process, and the system picks any thread that does not block it; Python
    would then raise in the main thread, inside whatever that has masked.  Does nothing in the main
    thread, which it is meant for.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main and hasattr(signal, "SIGUSR1"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})


@contextmanager
def soft_limit_after(seconds: float) -> Iterator[None]:
    """Have the soft limit strike the main thread once ``seconds`` are over within a block.

    For a call whose task has a later limit of Celery's.  Does nothing where no such limit can
    strike: outside a pool's child process.
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
