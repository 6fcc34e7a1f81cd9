"""The only sender of messages: wake-ups of agents and of the engine's other roles.

A message owns nothing: a lost one costs time and nothing else, and one is as good as many.
"""

import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from workers.conf import sas
from workers.exceptions import BrokerRefused
from workers.runtime.failpoints import around
from workers.runtime.per_process import per_process
from workers.runtime.soft_limit import block_soft_limit
from workers.wire import publisher

#: The prefix of the engine's task names.
TASKS = "workers."
TAKE = "workers.take"
ADVANCE = "workers.advance"
SWEEP = "workers.sweep"
REPORT = "workers.report"
PRUNE = "workers.prune"

SCHEDULER_QUEUE = "sas.scheduler"
SUPERVISOR_QUEUE = "sas.supervisor"
REPORTS_QUEUE = "sas.reports"
#: The queues of all roles but the agents.
QUEUES = frozenset({SCHEDULER_QUEUE, SUPERVISOR_QUEUE, REPORTS_QUEUE})

#: Time between an agent's soft and hard limit.
HARD_LIMIT_MARGIN_SECONDS = 10
#: The longest timeout that a step may have.
LONGEST_TIMEOUT_SECONDS = 600
#: The soft limit of a task that takes calls: it takes those whose complete-by is before that.
TAKING_LIMIT_SECONDS = 60 + LONGEST_TIMEOUT_SECONDS

log = logging.getLogger(__name__)


#: Sends messages; ``workers.testing`` replaces it with its own wire.
_send: Callable[..., None] = publisher.publish


def wake_scheduler() -> bool:
    """Wake a scheduler now.  False: the broker refused; the poll will look instead."""
    return _look.send()


def wake_agents(queue: str) -> bool:
    """Wake an agent process of a queue, to claim due steps.  False: the broker refused.

    The poll finds steps that no process claims, so the message expires after two polls.
    """
    return _send_wake_up(
        TAKE,
        queue,
        [queue],
        soft_time_limit=TAKING_LIMIT_SECONDS,
        time_limit=TAKING_LIMIT_SECONDS + HARD_LIMIT_MARGIN_SECONDS,
        expiration=2 * sas.poll_seconds,
    )


def trigger_sweep() -> bool:
    """Trigger a sweep now.  False: the broker refused."""
    return _send_wake_up(SWEEP, SUPERVISOR_QUEUE)


def report() -> bool:
    """Wake a relay to tell submitters now.  False: the broker refused; the poll wakes it later."""
    return _tell.send()


def prune() -> bool:
    """Trigger another round of pruning.  False: the broker refused; Beat triggers it later."""
    return _send_wake_up(PRUNE, REPORTS_QUEUE)


def _send_wake_up(name: str, to: str, body: Sequence[Any] = (), **options: Any) -> bool:
    try:
        with around("dispatch.wake_up"):
            _send(name, list(body), to, **options)
    except BrokerRefused as error:
        log.warning("wake_up_refused", extra={"task": name, "reason": str(error)})
        return False
    return True


#: Time between two wake-ups of one kind: requests that come meanwhile are combined.
REST_SECONDS = 0.03


class _WakeUpThread:
    """A thread that sends one kind of wake-up for callers that must never wait for the broker.

    The first wake-up is sent at once.  The next one waits a moment, so that a burst of submissions
    causes only a few, and their work is done together.
    """

    def __init__(self, send: Callable[[], bool], rest_seconds: float) -> None:
        self._send, self._rest_seconds = send, rest_seconds
        self._requested: queue.Queue[None] = queue.Queue(maxsize=1)
        _wake_up_threads.append((os.getpid(), self))
        threading.Thread(target=self._send_requested, name="wake-up", daemon=True).start()

    def request(self) -> None:
        # Full: a wake-up is about to be sent, and one is as good as many.
        with suppress(queue.Full):
            self._requested.put_nowait(None)

    def _send_requested(self) -> None:
        block_soft_limit()
        while True:
            self._requested.get()
            try:
                self._send()
            except Exception:
                # Catch everything: without this thread the process would send no more wake-ups.
                log.exception("wake_up_failed")
            finally:
                self._requested.task_done()
            time.sleep(self._rest_seconds)

    def flush(self, until: float) -> bool:
        """Wait until requested wake-ups are sent.  False: not before the end of the time."""
        with self._requested.all_tasks_done:
            return self._requested.all_tasks_done.wait_for(
                lambda: not self._requested.unfinished_tasks, max(0.0, until - time.monotonic())
            )


#: All such threads, each with its process id: a fork copies the objects, but not the threads.
_wake_up_threads: list[tuple[int, _WakeUpThread]] = []


def flush(seconds: float) -> bool:
    """Wait until this process's requested wake-ups are sent; for a process that ends now.

    False: the broker did not take them in time; the poll will look instead.
    """
    until = time.monotonic() + seconds
    return all(thread.flush(until) for pid, thread in _wake_up_threads if pid == os.getpid())


@per_process
def _agents_thread(queue: str) -> _WakeUpThread:
    """Return the thread that wakes the agents of a queue."""
    return _WakeUpThread(partial(wake_agents, queue), REST_SECONDS)


def wake_scheduler_later() -> None:
    """Wake a scheduler from a background thread: never blocks, never raises."""
    _look.later()


def wake_agents_later(queue: str) -> None:
    """Wake the agents of a queue from a background thread: never blocks, never raises."""
    _agents_thread(queue).request()


def report_later() -> None:
    """Wake a relay from a background thread: never blocks, never raises."""
    _tell.later()


class _WakeUpTimer:
    """The next scheduled wake-up of one kind in this process; the soonest is kept."""

    def __init__(self, send: Callable[[], bool]) -> None:
        self._send = send
        self._timer: threading.Timer | None = None
        self._due = 0.0

    def set(self, seconds: float) -> None:
        now = time.monotonic()
        due = now + max(0.01, seconds)
        if self._timer is not None and self._timer.is_alive():
            if now < self._due <= due:
                return
            if now < self._due:
                # One that is due already is about to be sent, for what it was asked for.
                self._timer.cancel()
        self._due = due
        self._timer = threading.Timer(due - now, self._send)
        self._timer.daemon = True
        self._timer.start()


class WakeUp:
    """Wake-ups of one kind: now, soon, or after a while.

    Any of them may be lost, so a periodic duty must do the same work.
    """

    def __init__(self, task: str, to: str, rest_seconds: float = REST_SECONDS) -> None:
        self.task, self._to, self._rest_seconds = task, to, rest_seconds
        self._timer = _WakeUpTimer(self.send)

    def send(self) -> bool:
        """Send a wake-up now.  False: the broker refused."""
        return _send_wake_up(self.task, self._to)

    def later(self) -> None:
        """Send a wake-up from a background thread: never blocks, never raises."""
        self._thread().request()

    def after(self, seconds: float) -> None:
        """Send a wake-up after a while; lost if this process ends."""
        self._timer.set(seconds)

    @per_process
    def _thread(self) -> _WakeUpThread:
        return _WakeUpThread(self.send, self._rest_seconds)


_look = WakeUp(ADVANCE, SCHEDULER_QUEUE)
#: A settled batch has news for many, so one wake-up serves several requests.
_tell = WakeUp(REPORT, REPORTS_QUEUE, 0.05)


def wake_scheduler_after(seconds: float) -> None:
    """Wake a scheduler after a while; if lost with this process, the poll looks."""
    _look.after(seconds)


@per_process
def _agents_timer(queue: str) -> _WakeUpTimer:
    """Return the timer that wakes the agents of a queue."""
    return _WakeUpTimer(partial(wake_agents, queue))


def wake_agents_after(queue: str, seconds: float) -> None:
    """Wake the agents of a queue after a while; lost if this process ends."""
    _agents_timer(queue).set(seconds)
