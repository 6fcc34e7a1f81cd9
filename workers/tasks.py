"""Celery's entry points: parse the message, call the role."""

import logging
import time
from collections.abc import Callable
from typing import Any

from celery import shared_task
from celery.exceptions import Reject
from django.db import InterfaceError, OperationalError

from workers import scheduler, supervisor
from workers.agent import shift
from workers.celery.own_tasks import HELD, left_to_the_next
from workers.exceptions import MessageError, UnknownAgent, first_line
from workers.notify import threads
from workers.operate import retention
from workers.protocol.messages import Bundle
from workers.runtime import db_connections
from workers.scheduler import passing_on
from workers.scheduler.reply_batches import Arrivals, none_waits
from workers.store import live_code
from workers.wire import dispatch
from workers.wire.queue_drain import waiting

log = logging.getLogger(__name__)

#: Pause before a message is redelivered when the database was unavailable.
DATABASE_PAUSE_SECONDS = 1.0
#: The most waiting messages that a task takes with it; if it fails, they are redelivered.
MOST_DRAINED = 200


@shared_task(name=dispatch.RUN_BUNDLE, **HELD)
def run_bundle(body: Any) -> None:
    """Agent: run the claims of one message.

    A message for an agent that only other live workers have goes back to the queue for them.
    """
    try:
        with db_connections.kept():
            try:
                run_bundle_now(body, shift.run)
            except UnknownAgent as error:
                time.sleep(passing_on.PASS_ON_SECONDS)
                raise Reject(str(error), requeue=True) from error
    except (OperationalError, InterfaceError) as error:
        raise _again(error) from error


@shared_task(name=dispatch.TAKE, **HELD)
def take(queue: Any) -> None:
    """Agent: claim due steps of a queue, as many as this process has room for."""
    with left_to_the_next():
        shift.take(str(queue))


def run_bundle_now(body: Any, run: Callable[[Bundle], object] = shift.perform) -> None:
    """Run the claims of one message that still hold; by default, all replies are sent.

    Raises ``UnknownAgent``, with nothing done, if another live worker has the agent.
    """
    try:
        run(Bundle.from_wire(body))
    except (MessageError, UnknownAgent) as error:
        if isinstance(error, UnknownAgent) and live_code.is_called(error.name):
            raise
        # Its claims will be sent again, to a worker that may know it.
        log.error("bundle_refused", extra={"reason": str(error)})


class _Backlog:
    """Whether the last message of replies had others behind it, so this one likely has, too."""

    was_met = False


_backlog = _Backlog()


@shared_task(name=dispatch.SETTLE, **HELD)
def settle(body: Any) -> None:
    """Scheduler: apply the replies of this message and of those that wait behind it.

    Under load, all together.  Else this one first: on an idle system none is behind it, and asking
    the broker would delay it.
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
    """Scheduler: carry on whatever the rows show as unfinished.

    One more look serves every wake-up that came meanwhile.
    """
    with left_to_the_next():
        scheduler.advance()
        with waiting(dispatch.SCHEDULER_QUEUE, dispatch.ADVANCE, 1000) as take:
            if take():
                scheduler.advance()


@shared_task(name=dispatch.SWEEP, **HELD)
def sweep() -> None:
    """Supervisor: sweep for expired steps."""
    with left_to_the_next():
        supervisor.sweep()


@shared_task(name=dispatch.PRUNE, **HELD)
def prune() -> None:
    """Retention: prune what ended long ago, for a few seconds at most.

    Another message continues, so that other messages in the queue get their turn in between.
    """
    with left_to_the_next():
        done = retention.prune()
        if done is not None and done.is_cut_off and any(done.values()):
            dispatch.prune()


@shared_task(name=dispatch.REPORT, **HELD)
def report() -> None:
    """Relay: notify submitters in the background of this process."""
    with waiting(dispatch.REPORTS_QUEUE, dispatch.REPORT, 1000) as take:
        take()
    threads.wake_up()


def _again(error: Exception) -> Reject:
    """Pause, and return a rejection that redelivers the message: the database is unavailable."""
    log.warning("database_away", extra={"reason": first_line(error)})
    time.sleep(DATABASE_PAUSE_SECONDS)
    return Reject(str(error), requeue=True)
