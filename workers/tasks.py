"""Celery's entry points: parse the message, call the role."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery import shared_task
from celery.exceptions import Reject
from celery.signals import worker_process_init
from django.db import InterfaceError, OperationalError

from workers import scheduler, supervisor
from workers.agent import next_step, runner
from workers.exceptions import MessageError, UnknownAgent, first_line
from workers.notify import threads
from workers.operate import examinations, health, jobs, releases, retention
from workers.protocol.messages import Bundle
from workers.runtime import db_connections, gc_control
from workers.scheduler.reply_batches import Arrivals, none_waits
from workers.wire import dispatch
from workers.wire.queue_drain import waiting

log = logging.getLogger(__name__)

#: The engine's own tasks, whatever the project's others do: acknowledged once done, in JSON, and
#: not delivered again for a child's death, which a call that kills its process would cause for
#: ever.  The row brings it back, and counts.
HELD: dict[str, Any] = {
    "acks_late": True,
    "ignore_result": True,
    "reject_on_worker_lost": False,
    "serializer": "json",
}
#: Time a message rests before it is delivered again when the database was away.
DATABASE_PAUSE_SECONDS = 1.0
#: Messages that a task takes along from its queue; should it fail, they come again.
MOST_DRAINED = 200

#: After so long a child that hangs over a probe is ended; a round ends itself long before.
EXAMINE_SECONDS = 120

worker_process_init.connect(gc_control.leave_what_is_there)


@shared_task(name=dispatch.RUN_BUNDLE, **HELD)
def run_bundle(body: Any) -> None:
    """Agent: run the claims of one message."""
    try:
        with db_connections.kept():
            run_bundle_now(body, next_step.run)
    except (OperationalError, InterfaceError) as error:
        raise _again(error) from error


def run_bundle_now(body: Any, run: Callable[[Bundle], object] = runner.perform) -> None:
    """Run the claims of one message that still hold; by itself, all replies are sent."""
    try:
        run(Bundle.from_wire(body))
    except (MessageError, UnknownAgent) as error:
        # Its claims are sent again to whoever knows better.
        log.error("bundle_refused", extra={"reason": str(error)})


class _Backlog:
    """Whether the last message of replies had others behind it, and this one likely has, too."""

    was_met = False


_backlog = _Backlog()


@shared_task(name=dispatch.SETTLE, **HELD)
def settle(body: Any) -> None:
    """Scheduler: apply the replies of this message and of those that wait behind it.

    All together where messages come one behind the other.  Else this one first: at idle nobody
    is behind it, and to ask the broker would hold it up.
    """
    comes_first = not _backlog.was_met
    try:
        with db_connections.kept():
            if comes_first:
                settle_now(body)
            with waiting(dispatch.REPLY_QUEUE, dispatch.SETTLE, MOST_DRAINED) as take:
                arrivals = Arrivals([] if comes_first else [body], take)
                scheduler.settle_all(arrivals)
            _backlog.was_met = arrivals.had_backlog
    except (OperationalError, InterfaceError) as error:
        raise _again(error) from error


def settle_now(*bodies: Any) -> None:
    """Settle the replies of some messages, in batches."""
    scheduler.settle_all(Arrivals(bodies, none_waits))


@shared_task(name=dispatch.ADVANCE, **HELD)
def advance() -> None:
    """Scheduler: carry on what the rows say can be carried on.

    One more look serves every nudge that came meanwhile.
    """
    with _left_to_the_next():
        scheduler.advance()
        with waiting(dispatch.SCHEDULER_QUEUE, dispatch.ADVANCE, 1000) as take:
            if take():
                scheduler.advance()


@shared_task(name=dispatch.SWEEP, **HELD)
def sweep() -> None:
    """Supervisor: sweep for expired steps."""
    with _left_to_the_next():
        supervisor.sweep()


@shared_task(name=dispatch.PRUNE, **HELD)
def prune() -> None:
    """Retention: prune what ended long ago, for a few seconds at most.

    What is left then is another message's: whatever else waits in the queue comes in between.
    """
    with _left_to_the_next():
        done = retention.prune()
        if done is not None and done.is_cut_off and any(done.values()):
            dispatch.prune()


@shared_task(name=dispatch.RUN_JOBS, **HELD)
def run_jobs() -> None:
    """Jobs: act on the next processes, for a second at most.

    What is left then is another message's: whatever else waits in the queue comes in between.
    """
    with _left_to_the_next(), waiting(dispatch.SCHEDULER_QUEUE, dispatch.RUN_JOBS, 1000) as take:
        take()
        jobs.run()


@shared_task(name=dispatch.KEEP_HEALTH, **HELD)
def keep_health() -> None:
    """Health: roll minutes up for a few seconds at most, and ask for the doctor where he is due.

    What is left then is another message's.
    """
    with _left_to_the_next():
        done = health.run()
        releases.note_own()
        if done is not None and done.is_behind:
            dispatch.keep_health()
        if examinations.is_due():
            dispatch.examine()


@shared_task(name=dispatch.EXAMINE, time_limit=EXAMINE_SECONDS, **HELD)
def examine() -> None:
    """Doctor: look over the installation and keep what is found; see ``doctor.rounds``."""
    with _left_to_the_next():
        examinations.run()


@shared_task(name=dispatch.REPORT, **HELD)
def report() -> None:
    """Relay: tell submitters, beside whatever else this process does."""
    with waiting(dispatch.REPORTS_QUEUE, dispatch.REPORT, 1000) as take:
        take()
    threads.want()


@contextmanager
def _left_to_the_next() -> Iterator[None]:
    """Leave a look to the next one where the database is away: the timers ask again."""
    try:
        with db_connections.kept():
            yield
    except (OperationalError, InterfaceError) as error:
        log.warning("database_away", extra={"reason": first_line(error)})


def _again(error: Exception) -> Reject:
    """Return the order to deliver a message again, after a rest: the database was away."""
    log.warning("database_away", extra={"reason": first_line(error)})
    time.sleep(DATABASE_PAUSE_SECONDS)
    return Reject(str(error), requeue=True)
