"""Run an agent process's concurrent calls, each in a thread and with its own deadline."""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic

from workers.conf import sas
from workers.definitions.agent import Agent, Deadline
from workers.definitions.effects import Effect
from workers.protocol.messages import Reply, Request
from workers.runtime.per_process import per_process
from workers.runtime.soft_limit import block_soft_limit

#: A process holds as many claims of an agent as it can finish in this time, if that is more than
#: the agent's concurrent calls: quick calls follow one another in a thread.
QUICK_SECONDS = 0.025
#: Calls of an agent that end within this share of their duration are replied to together.
GATHER_SHARE, LEAST_GATHER_SECONDS, MOST_GATHER_SECONDS = 0.05, 0.005, 0.05
#: Weight of the newest call in the mean time of an agent's calls.
NEWEST = 0.3
#: The most threads of one process: a bound against mistakes, far above the agents' own limits.
MOST_THREADS = 2000


@dataclass(frozen=True, slots=True)
class Work:
    """One call to make."""

    agent: Agent
    request: Request
    deadline: Deadline
    #: It has been counted against its agent's rate.
    is_rated: bool = False


@dataclass(frozen=True, slots=True)
class EndedCall:
    """A call that has ended, and its reply; None: no reply is sent."""

    work: Work
    reply: Reply | None


class _Lane:
    """The calls of one agent in this process."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        #: The most threads for it.
        self.width = agent.calls_at_once
        self.todo: deque[Work] = deque()
        self.threads = 0
        self.is_thread_starting = False
        #: Calls that have not ended.
        self.left = 0
        self.todo_since = 0.0


@per_process
def _paces() -> dict[str, float]:
    """Return the mean time of this process's calls in seconds, by agent."""
    return {}


class Calls:
    """Calls under way in threads, and the outcomes of those that have ended.

    A new thread starts only after the previous one has begun work and while more calls wait: so
    quick calls are made by one or two threads, without a thread switch for each.
    """

    def __init__(self, call: Callable[[Work], Reply | None], pool: Executor | None = None) -> None:
        self._call = call
        self._pool, self._local_pool = pool or threads(), pool or threads(local=True)
        self._lanes: dict[str, _Lane] = {}
        self._open: dict[int, Work] = {}
        self._ended: deque[tuple[Work, Reply | BaseException | None]] = deque()
        self._lock = threading.Lock()
        #: Signals the end of each call; the queue above has the outcomes, and its length counts.
        self._bell: SimpleQueue[None] = SimpleQueue()

    def begin(self, works: Sequence[Work]) -> None:
        """Start calls, all of one agent."""
        if not works:
            return
        lane = self._lane(works[0].agent)
        with self._lock:
            if not lane.todo:
                lane.todo_since = monotonic()
            lane.todo.extend(works)
            lane.left += len(works)
            self._open.update({id(work): work for work in works})
        self._add_thread(lane)

    @property
    def left(self) -> int:
        """Return how many calls are still to be returned by ``take``."""
        return len(self._open) + len(self._ended)

    def has_overdue(self) -> bool:
        """Say whether a call has run past its deadline."""
        return any(work.deadline.remaining() <= 0 for work in list(self._open.values()))

    def are_all_overdue(self) -> bool:
        """Say whether all remaining calls have run past their deadline."""
        works = list(self._open.values())
        return not self._ended and all(work.deadline.remaining() <= 0 for work in works)

    def overdue_seconds(self) -> float:
        """Return how long all calls have been past their deadline; below 0 while one is not."""
        return min((-work.deadline.remaining() for work in list(self._open.values())), default=0.0)

    def overdue_agents(self) -> list[str]:
        """Return the names of the agents of calls that have run past their deadline."""
        works = list(self._open.values())
        return sorted({work.agent.name for work in works if work.deadline.remaining() <= 0})

    def room(self, agent: Agent) -> int:
        """Return how many more claims of an agent this process can start now."""
        return max(0, _depth(agent) - self._lane(agent).left)

    def take(self, seconds: float) -> list[EndedCall]:
        """Return the calls that have ended; wait for one for at most ``seconds``.

        Includes calls of the same agents that end right after it.  Raises what a call raised.
        """
        self._widen()
        if not self._ended:
            self._wait(min(seconds, QUICK_SECONDS) if self._has_todo() else seconds)
        if self._ended:
            self._gather()
        ended = [self._ended.popleft() for _ in range(len(self._ended))]
        raised = [pair for pair in ended if isinstance(pair[1], BaseException)]
        for _, outcome in raised:
            if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
                # The end of the process: nothing comes after it.
                raise outcome
        calls = [
            EndedCall(work, outcome)
            for work, outcome in ended
            if outcome is None or isinstance(outcome, Reply)
        ]
        if raised and not calls:
            assert isinstance(raised[0][1], BaseException)
            raise raised[0][1]
        # The others are handed over first.
        self._ended.extendleft(reversed(raised))
        return calls

    def give_up(self) -> None:
        """Start no more calls."""
        with self._lock:
            for lane in self._lanes.values():
                for work in lane.todo:
                    del self._open[id(work)]
                lane.left -= len(lane.todo)
                lane.todo.clear()

    def _lane(self, agent: Agent) -> _Lane:
        if agent.name not in self._lanes:
            self._lanes[agent.name] = _Lane(agent)
        return self._lanes[agent.name]

    def _gather(self) -> None:
        """Wait a moment for more calls of the same agents to end."""
        names = {work.agent.name for work, _ in list(self._ended)}
        mean = min(_paces().get(name, 0.0) for name in names)
        gather = max(LEAST_GATHER_SECONDS, min(mean * GATHER_SHARE, MOST_GATHER_SECONDS))
        end = monotonic() + gather
        while any(self._lanes[name].left for name in names):
            if (seconds := end - monotonic()) <= 0:
                return
            self._wait(seconds)

    def _wait(self, seconds: float) -> None:
        with suppress(Empty):
            self._bell.get(timeout=max(0.0, seconds))

    def _has_todo(self) -> bool:
        return any(lane.todo for lane in self._lanes.values())

    def _widen(self) -> None:
        """Give each call that has waited too long a thread, because the running ones are slow."""
        for lane in self._lanes.values():
            is_late = lane.todo and monotonic() - lane.todo_since >= QUICK_SECONDS
            if is_late and not lane.agent.is_local:
                lane.width = max(lane.width, lane.threads + len(lane.todo))
                self._add_thread(lane)

    def _add_thread(self, lane: _Lane) -> None:
        with self._lock:
            if lane.is_thread_starting or not lane.todo or lane.threads >= lane.width:
                return
            lane.is_thread_starting = True
            lane.threads += 1
        pool = self._local_pool if lane.agent.is_local else self._pool
        pool.submit(self._work, lane)

    def _work(self, lane: _Lane) -> None:
        lane.is_thread_starting = False
        while True:
            if len(lane.todo) > 1:
                self._add_thread(lane)
            with self._lock:
                if not lane.todo:
                    lane.threads -= 1
                    return
                work = lane.todo.popleft()
            began = monotonic()
            try:
                outcome: Reply | BaseException | None = self._call(work)
            except BaseException as error:  # noqa: BLE001 (raised where the replies are taken)
                self.give_up()
                outcome = error
            _note_pace(work.agent.name, monotonic() - began)
            with self._lock:
                lane.left -= 1
                del self._open[id(work)]
                self._ended.append((work, outcome))
            self._bell.put(None)


def _note_pace(agent: str, seconds: float) -> None:
    paces = _paces()
    paces[agent] = paces.get(agent, seconds) * (1 - NEWEST) + seconds * NEWEST


def _depth(agent: Agent) -> int:
    """Return how many claims of an agent this process may hold."""
    width = agent.calls_at_once
    if agent.is_serial or agent.bundle_limit or agent.effect == Effect.UNSAFE:
        return width
    pace = _paces().get(agent.name)
    if pace is None:
        return width
    return min(max(width, int(width * QUICK_SECONDS / max(pace, 1e-6))), int(sas.bundle_depth))


class _Threads:
    """The process's threads for agents' calls, dropped when one runs past its deadline.

    Kept between tasks because starting threads costs more than a short call; created anew after a
    fork, which copies none.  Local agents have separate threads, at most one each, because such a
    thread keeps its database connection: over all threads, each would keep one, and a server has
    few.
    """

    def __init__(self) -> None:
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._pid = 0

    def __call__(self, *, local: bool = False) -> Executor:
        if self._pid != os.getpid():
            self._pools, self._pid = {}, os.getpid()
        name = "local" if local else "agent"
        if name not in self._pools:
            self._pools[name] = ThreadPoolExecutor(
                MOST_THREADS, thread_name_prefix=name, initializer=block_soft_limit
            )
        return self._pools[name]

    def drop(self) -> None:
        self._pools = {}


threads = _Threads()
