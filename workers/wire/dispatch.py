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

from workers.definitions import registry
from workers.exceptions import BrokerRefused
from workers.protocol.messages import Bundle, Reply, replies_to_wire
from workers.runtime.failpoints import around
from workers.runtime.per_process import per_process
from workers.runtime.soft_limit import block_soft_limit
from workers.wire import publisher

RUN_BUNDLE = "workers.run_bundle"
SETTLE = "workers.settle"
ADVANCE = "workers.advance"
SWEEP = "workers.sweep"
REPORT = "workers.report"
PRUNE = "workers.prune"
RUN_JOBS = "workers.run_jobs"
KEEP_HEALTH = "workers.keep_health"
EXAMINE = "workers.examine"

SCHEDULER_QUEUE = "sas.scheduler"
REPLY_QUEUE = "sas.replies"
SUPERVISOR_QUEUE = "sas.supervisor"
REPORTS_QUEUE = "sas.reports"

#: Time between an agent's soft and hard limit.
HARD_LIMIT_MARGIN_SECONDS = 10

log = logging.getLogger(__name__)


#: How messages leave; ``workers.testing`` puts its own wire here.
_send: Callable[..., str | None] = publisher.publish


def send_bundle(bundle: Bundle) -> str | None:
    """Send claims to their agent; raise ``BrokerRefused`` when the broker did not take them.

    In a ``publisher.batch`` it returns the id by which that says so at its end.

    The soft limit is the timeout: Celery counts it from acceptance, which is before the
    start, so it never ends later than complete-by.  Local agents run one after another and
    each starts its own clock, hence the sum.
    """
    agent = registry.agent(bundle.agent)
    limit = bundle.timeout_seconds * (len(bundle.requests) if agent.is_local else 1)
    with around("dispatch.send_bundle"):
        return _send(
            RUN_BUNDLE,
            [bundle.to_wire()],
            agent.queue,
            soft_time_limit=limit,
            time_limit=limit + HARD_LIMIT_MARGIN_SECONDS,
        )


def send_replies(replies: Sequence[Reply]) -> None:
    """Send replies to the Scheduler; raise ``BrokerRefused`` when the broker did not take them."""
    with around("dispatch.send_replies"):
        _send(SETTLE, [replies_to_wire(list(replies))], REPLY_QUEUE)


def nudge() -> bool:
    """Ask a scheduler to look now.  False: the broker refused; the poll will look instead."""
    return _hint(ADVANCE, SCHEDULER_QUEUE)


def trigger_sweep() -> bool:
    """Ask a supervisor to sweep now.  False: the broker refused."""
    return _hint(SWEEP, SUPERVISOR_QUEUE)


def report() -> bool:
    """Ask a relay to tell submitters now.  False: the broker refused; the poll asks again."""
    return _hint(REPORT, REPORTS_QUEUE)


def prune() -> bool:
    """Ask for another round of pruning.  False: the broker refused; Beat asks again."""
    return _hint(PRUNE, REPORTS_QUEUE)


def run_jobs() -> bool:
    """Ask for a slice of the work of jobs.  False: the broker refused; the poll asks again."""
    return _hint(RUN_JOBS, SCHEDULER_QUEUE)


def keep_health() -> bool:
    """Ask for a round of the figures.  False: the broker refused; the sweep asks again."""
    return _hint(KEEP_HEALTH, REPORTS_QUEUE)


def examine() -> bool:
    """Ask for a round of the doctor.  False: the broker refused; the next round asks again."""
    return _hint(EXAMINE, REPORTS_QUEUE)


def _hint(name: str, to: str) -> bool:
    try:
        with around("dispatch.hint"):
            _send(name, [], to)
    except BrokerRefused as error:
        log.warning("wake_up_refused", extra={"task": name, "reason": str(error)})
        return False
    return True


#: This many requests for a hint while its thread rests are a burst, gathered for this much longer.
BURST, BURST_SECONDS = 2, 0.04


class _Nudger:
    """A thread that sends one kind of hint for callers that must never wait for the broker.

    The first hint leaves at once.  The next one waits a moment, so that a burst of submissions is
    a few hints, and longer when many ask meanwhile, so that their work is done together.
    """

    def __init__(self, send: Callable[[], bool], rest_seconds: float) -> None:
        self._hint, self._rest_seconds = send, rest_seconds
        self._wanted: queue.Queue[None] = queue.Queue(maxsize=1)
        self._asked = 0
        _nudgers.append((os.getpid(), self))
        threading.Thread(target=self._send_wanted, name="nudger", daemon=True).start()

    def want(self) -> None:
        # Two threads may count one between them: it says how busy it is, and no more.
        self._asked += 1
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
            self._rest()

    def _rest(self) -> None:
        self._asked = 0
        time.sleep(self._rest_seconds)
        if self._asked >= BURST:
            time.sleep(BURST_SECONDS)

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
def _nudger() -> _Nudger:
    return _Nudger(nudge, 0.02)


@per_process
def _reporter() -> _Nudger:
    """Return the same for relays; a settled batch tells many, so one look serves several."""
    return _Nudger(report, 0.05)


@per_process
def _job_runner() -> _Nudger:
    """Return the same for jobs."""
    return _Nudger(run_jobs, 0.05)


def nudge_later() -> None:
    """Ask a scheduler to look, from a thread of its own: never blocks, never raises."""
    _nudger().want()


def report_later() -> None:
    """Ask a relay to tell submitters, from a thread of its own: never blocks, never raises."""
    _reporter().want()


def run_jobs_later() -> None:
    """Ask for the work of jobs, from a thread of its own: never blocks, never raises."""
    _job_runner().want()


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


#: One serves every agent.
_appointment = _Appointment(nudge)
_slice = _Appointment(run_jobs)


def nudge_after(seconds: float) -> None:
    """Ask a scheduler to look in a while; lost with this process, and then the poll looks."""
    _appointment.make(seconds)


def run_jobs_after(seconds: float) -> None:
    """Ask for the work of jobs in a while; lost with this process, and then the poll asks."""
    _slice.make(seconds)
