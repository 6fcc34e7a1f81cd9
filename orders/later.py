"""Work that a web process does after it has answered: mail, above all.

How long an answer takes then tells nothing of what there was to do. Work waits in memory, in a
queue with a bound: whoever asks is told when that is full, what fails is tried again, and what is
given up or lost at the end of the process is in the log.
"""

import atexit
import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from django.db import close_old_connections, connection

log = logging.getLogger(__name__)

MOST_WAITING = 100
#: By then the answer has left: what is done in this thread slows no request that asked for it.
DELAY_SECONDS = 1.0
TRIES = 3
RETRY_SECONDS = 30.0
#: How long a process that ends goes on with what waits.
END_SECONDS = 5.0


class Full(Exception):
    """As much waits as may."""


@dataclass(slots=True)
class _Work:
    name: str
    do: Callable[[], object]
    due: float
    tries: int = 0


class Later:
    """A thread that does one thing after the other; it begins with the first."""

    def __init__(
        self,
        *,
        most: int = MOST_WAITING,
        delay: float = DELAY_SECONDS,
        retry: float = RETRY_SECONDS,
    ) -> None:
        self._waiting: queue.Queue[_Work] = queue.Queue(most)
        self._delay = delay
        self._retry = retry
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, name: str, do: Callable[[], object]) -> None:
        """Have something done soon. Raises ``Full``; never waits."""
        self._queue(_Work(name, do, time.monotonic() + self._delay))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="later", daemon=True)
                self._thread.start()
                atexit.register(self.end)

    def end(self, seconds: float = END_SECONDS) -> None:
        """Do what waits, for some seconds; what is left then is counted in the log."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(seconds)
        if left := self._waiting.qsize():
            log.error("later_lost", extra={"count": left})

    def _queue(self, work: _Work) -> None:
        try:
            self._waiting.put_nowait(work)
        except queue.Full:
            raise Full from None

    def _run(self) -> None:
        while True:
            try:
                work = self._waiting.get(timeout=0.2)
            except queue.Empty:
                if self._ending.is_set():
                    return
                continue
            self._ending.wait(max(0.0, work.due - time.monotonic()))
            self._do(work)

    def _do(self, work: _Work) -> None:
        try:
            close_old_connections()
            work.do()
        except Exception:
            work.tries += 1
            is_over = work.tries >= TRIES or self._ending.is_set()
            log.log(
                logging.ERROR if is_over else logging.WARNING,
                "later_failed",
                extra={"work": work.name, "tries": work.tries, "is_over": is_over},
                exc_info=True,
            )
            if not is_over:
                self._again(work)
        finally:
            # The next may be hours away.
            connection.close()

    def _again(self, work: _Work) -> None:
        work.due = time.monotonic() + self._retry
        try:
            self._queue(work)
        except Full:
            log.error("later_lost", extra={"count": 1, "work": work.name})


@cache
def _of_process(pid: int) -> Later:
    """Return the queue of this process: a forked one has its parent's object and no thread."""
    return Later()


def put(name: str, do: Callable[[], object]) -> None:
    """Have something done soon by this process. Raises ``Full``; never waits."""
    _of_process(os.getpid()).put(name, do)
