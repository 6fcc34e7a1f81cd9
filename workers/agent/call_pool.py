"""The calls of one bundle, side by side in threads."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock
from time import monotonic

from workers.protocol.messages import Reply, Request

#: Calls that end within this time of each other are answered together: at least so long, else a
#: share of the time since they began, at most so long.  What is answered alone becomes a bundle of
#: its own, and a bundle of two keeps a process for as long as one of twenty.
GATHER_SECONDS, GATHER_SHARE, MOST_GATHER_SECONDS = 0.005, 0.5, 0.025


class Calls:
    """Calls that threads work off, ``width`` at a time, and what they came to.

    A thread is brought in only when one that was brought in has begun and there is more to do:
    calls that take no time are made by one or two, without a change of threads for each.
    """

    def __init__(
        self,
        pool: Executor,
        width: int,
        call: Callable[[Request], Reply | None],
        requests: Sequence[Request],
    ) -> None:
        self._pool, self._width, self._call = pool, width, call
        self._todo = deque(requests)
        #: Calls that were made, are made and will be.
        self.count = len(requests)
        #: What each came to: a reply, silence or an exception.
        self._ended: list[Reply | BaseException | None] = []
        self._taken = 0
        self._threads = 0
        self._is_one_coming = False
        self._lock = Lock()
        self._began = monotonic()
        #: Rung at the end of each call; what has ended is counted above, and never by its rings.
        self._bell: SimpleQueue[None] = SimpleQueue()

    def begin(self) -> None:
        """Bring in the first thread; it brings in the others."""
        self._bring_one()

    @property
    def left(self) -> int:
        """Return how many calls have not ended."""
        return self.count - len(self._ended)

    @property
    def is_over(self) -> bool:
        """Say whether all have ended and all replies were taken."""
        return self._taken == self.count

    def take(self, seconds: float) -> list[Reply]:
        """Return the replies since the last time; waits for one until ``seconds`` are over.

        Those of calls that end right after it come along.  Raises what a call has raised.
        """
        if len(self._ended) == self._taken:
            self._wait_for_end(seconds)
        share = GATHER_SHARE * (monotonic() - self._began)
        gather = max(GATHER_SECONDS, min(share, MOST_GATHER_SECONDS))
        self.wait_until_over(min(gather, seconds))
        ended = self._ended[self._taken :]
        self._taken += len(ended)
        for outcome in ended:
            if isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in ended if isinstance(outcome, Reply)]

    def wait_until_over(self, seconds: float) -> bool:
        """Wait until all calls have ended, for at most ``seconds``; say whether they have."""
        until = monotonic() + seconds
        while self.left and (seconds_left := until - monotonic()) > 0:
            self._wait_for_end(seconds_left)
        return not self.left

    def widen(self) -> None:
        """Give every call that waits for a thread its own."""
        self._width = self.count
        self._bring_one()

    def give_up(self) -> None:
        """Begin no more calls."""
        with self._lock:
            self.count -= len(self._todo)
            self._todo.clear()

    def _wait_for_end(self, seconds: float) -> None:
        with suppress(Empty):
            self._bell.get(timeout=max(0.0, seconds))

    def _bring_one(self) -> None:
        with self._lock:
            if self._is_one_coming or not self._todo or self._threads >= self._width:
                return
            self._is_one_coming = True
            self._threads += 1
        self._pool.submit(self._work)

    def _work(self) -> None:
        self._is_one_coming = False
        while True:
            if len(self._todo) > 1:
                self._bring_one()
            with self._lock:
                if not self._todo:
                    return
                request = self._todo.popleft()
            try:
                self._ended.append(self._call(request))
            except BaseException as error:  # noqa: BLE001 (raised where the replies are taken)
                self.give_up()
                self._ended.append(error)
            self._bell.put(None)
