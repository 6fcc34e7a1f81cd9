"""Work that a web process does after it has answered, above all mail.

So the time of an answer does not reveal what there was to do. Work waits in a bounded queue in
memory: a full queue is reported to the caller, failures are retried, and work that is given up, or
lost when the process ends, is logged.
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
#: By then the answer is sent: this thread does not slow the request that put the work.
DELAY_SECONDS = 1.0
TRIES = 3
RETRY_SECONDS = 30.0
#: How long an ending process continues with waiting work.
END_SECONDS = 5.0


class Full(Exception):
    """The queue is full."""


@dataclass(slots=True)
class _Work:
    name: str
    do: Callable[[], object]
    due: float
    tries: int = 0


class Later:
    """A queue with one worker thread, which starts with the first work."""

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
        """Queue work. Raises ``Full``; never blocks."""
        self._queue(_Work(name, do, time.monotonic() + self._delay))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="later", daemon=True)
                self._thread.start()
                atexit.register(self.end)

    def end(self, seconds: float = END_SECONDS) -> None:
        """Finish waiting work for up to ``seconds``; log how much is left then."""
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
            # The next work may be hours away.
            connection.close()

    def _again(self, work: _Work) -> None:
        work.due = time.monotonic() + self._retry
        try:
            self._queue(work)
        except Full:
            log.error("later_lost", extra={"count": 1, "work": work.name})


@cache
def _of_pid(pid: int) -> Later:
    """Return the queue of a process: a fork would inherit its parent's queue, but no thread."""
    return Later()


def put(name: str, do: Callable[[], object]) -> None:
    """Queue work in this process. Raises ``Full``; never blocks."""
    _of_pid(os.getpid()).put(name, do)
