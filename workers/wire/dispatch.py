"""The only sender of messages: requests to agents, replies and nudges to the Scheduler.

Every message is a hint: its loss costs time and nothing else.
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
from workers.protocol.messages import Reply, replies_to_wire
from workers.runtime.failpoints import around
from workers.runtime.per_process import per_process
from workers.runtime.soft_limit import block_soft_limit
from workers.wire import publisher

#: What the names of the engine's tasks begin with.
TASKS = "workers."
RUN_BUNDLE = "workers.run_bundle"
TAKE = "workers.take"
SETTLE = "workers.settle"
ADVANCE = "workers.advance"
SWEEP = "workers.sweep"
REPORT = "workers.report"
PRUNE = "workers.prune"

SCHEDULER_QUEUE = "sas.scheduler"
REPLY_QUEUE = "sas.replies"
SUPERVISOR_QUEUE = "sas.supervisor"
REPORTS_QUEUE = "sas.reports"

#: Time between an agent's soft and hard limit.
HARD_LIMIT_MARGIN_SECONDS = 10
#: The longest timeout that a step may have.
LONGEST_TIMEOUT_SECONDS = 600
#: For how long the process that got a message takes further calls while its own wait.
TAKING_SECONDS = 60
#: The latest complete-by of a call that such a process may hold, after it began.
TAKING_LIMIT_SECONDS = TAKING_SECONDS + LONGEST_TIMEOUT_SECONDS

log = logging.getLogger(__name__)


#: How messages leave; ``workers.testing`` puts its own wire here.
_send: Callable[..., str | None] = publisher.publish


def send(task: str, body: Sequence[Any], to: str, **options: Any) -> str | None:
    """Send a message; raise ``BrokerRefused`` when the broker did not take it.

    In a ``publisher.batch`` it returns the id by which that says so at its end.
    """
    return _send(task, list(body), to, **options)


def send_replies(replies: Sequence[Reply]) -> None:
    """Send replies to the Scheduler; raise ``BrokerRefused`` when the broker did not take them."""
    with around("dispatch.send_replies"):
        _send(SETTLE, [replies_to_wire(list(replies))], REPLY_QUEUE)


def nudge() -> bool:
    """Ask a scheduler to look now.  False: the broker refused; the poll will look instead."""
    return _look.send()


def wake_agents(queue: str) -> bool:
    """Ask an agent process of a queue to take what is due.  False: the broker refused.

    The poll finds what nobody takes, so the message goes when it is older than two of them.
    """
    return _hint(
        TAKE,
        queue,
        [queue],
        soft_time_limit=TAKING_LIMIT_SECONDS,
        time_limit=TAKING_LIMIT_SECONDS + HARD_LIMIT_MARGIN_SECONDS,
        expiration=2 * sas.poll_seconds,
    )


def trigger_sweep() -> bool:
    """Ask a supervisor to sweep now.  False: the broker refused."""
    return _hint(SWEEP, SUPERVISOR_QUEUE)


def report() -> bool:
    """Ask a relay to tell submitters now.  False: the broker refused; the poll asks again."""
    return _tell.send()


def prune() -> bool:
    """Ask for another round of pruning.  False: the broker refused; Beat asks again."""
    return _hint(PRUNE, REPORTS_QUEUE)


def _hint(name: str, to: str, body: Sequence[Any] = (), **options: Any) -> bool:
    try:
        with around("dispatch.hint"):
            _send(name, list(body), to, **options)
    except BrokerRefused as error:
        log.warning("wake_up_refused", extra={"task": name, "reason": str(error)})
        return False
    return True


#: Time between two wake-ups of one kind: what is asked for meanwhile is worked on together.
REST_SECONDS = 0.03


class _Nudger:
    """A thread that sends one kind of hint for callers that must never wait for the broker.

    The first hint leaves at once.  The next one waits a moment, so that a burst of submissions is
    a few hints, and their work is done together.
    """

    def __init__(self, send: Callable[[], bool], rest_seconds: float) -> None:
        self._hint, self._rest_seconds = send, rest_seconds
        self._wanted: queue.Queue[None] = queue.Queue(maxsize=1)
        _nudgers.append((os.getpid(), self))
        threading.Thread(target=self._send_wanted, name="nudger", daemon=True).start()

    def want(self) -> None:
        # Full means that a nudge is about to leave, and one says as much as many.
        with suppress(queue.Full):
            self._wanted.put_nowait(None)

    def _send_wanted(self) -> None:
        block_soft_limit()
        while True:
            self._wanted.get()
            try:
                self._hint()
            except Exception:
                # Whatever it was: without this thread the process would never nudge again.
                log.exception("wake_up_failed")
            finally:
                self._wanted.task_done()
            time.sleep(self._rest_seconds)

    def flush(self, until: float) -> bool:
        """Wait until what was wanted has been sent.  False: the time was over before."""
        with self._wanted.all_tasks_done:
            return self._wanted.all_tasks_done.wait_for(
                lambda: not self._wanted.unfinished_tasks, max(0.0, until - time.monotonic())
            )


#: Those that were made, each with its process: a fork copies them, and not their threads.
_nudgers: list[tuple[int, _Nudger]] = []


def flush(seconds: float) -> bool:
    """Wait until the hints that this process asked for have left; for one that ends now.

    False: the broker did not take them in that time, and the poll will look instead.
    """
    until = time.monotonic() + seconds
    return all(nudger.flush(until) for pid, nudger in _nudgers if pid == os.getpid())


@per_process
def _waker(queue: str) -> _Nudger:
    """Return the same for the agents of a queue."""
    return _Nudger(partial(wake_agents, queue), REST_SECONDS)


def nudge_later() -> None:
    """Ask a scheduler to look, from a thread of its own: never blocks, never raises."""
    _look.later()


def wake_agents_later(queue: str) -> None:
    """Ask the agents of a queue to look, from a thread of its own: never blocks, never raises."""
    _waker(queue).want()


def report_later() -> None:
    """Ask a relay to tell submitters, from a thread of its own: never blocks, never raises."""
    _tell.later()


class _Appointment:
    """The next hint of one kind of this process, made in advance; the soonest is kept."""

    def __init__(self, hint: Callable[[], bool]) -> None:
        self._hint = hint
        self._timer: threading.Timer | None = None
        self._due = 0.0

    def make(self, seconds: float) -> None:
        now = time.monotonic()
        due = now + max(0.01, seconds)
        if self._timer is not None and self._timer.is_alive():
            if now < self._due <= due:
                return
            self._timer.cancel()
        self._due = due
        self._timer = threading.Timer(due - now, self._hint)
        self._timer.daemon = True
        self._timer.start()


class WakeUp:
    """Messages of one kind that ask for a look: now, soon, or in a while.

    Each may be lost: whoever sends one must be asked by a timer, too.
    """

    def __init__(self, task: str, to: str, rest_seconds: float = REST_SECONDS) -> None:
        self.task, self._to, self._rest_seconds = task, to, rest_seconds
        self._appointment = _Appointment(self.send)

    def send(self) -> bool:
        """Ask for a look now.  False: the broker refused."""
        return _hint(self.task, self._to)

    def later(self) -> None:
        """Ask for a look, from a thread of its own: never blocks, never raises."""
        self._nudger().want()

    def after(self, seconds: float) -> None:
        """Ask for a look in a while; lost with this process."""
        self._appointment.make(seconds)

    @per_process
    def _nudger(self) -> _Nudger:
        return _Nudger(self.send, self._rest_seconds)


_look = WakeUp(ADVANCE, SCHEDULER_QUEUE)
#: A settled batch tells many, so one look serves several.
_tell = WakeUp(REPORT, REPORTS_QUEUE, 0.05)


def nudge_after(seconds: float) -> None:
    """Ask a scheduler to look in a while; lost with this process, and then the poll looks."""
    _look.after(seconds)


@per_process
def _rewaker(queue: str) -> _Appointment:
    """Return the appointment of the agents of a queue."""
    return _Appointment(partial(wake_agents, queue))


def wake_agents_after(queue: str, seconds: float) -> None:
    """Ask the agents of a queue to look in a while; lost with this process."""
    _rewaker(queue).make(seconds)
