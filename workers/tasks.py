"""Celery's entry points: parse the message, call the role."""

from collections.abc import Callable

from celery import shared_task

from workers import scheduler, supervisor
from workers.agent import shift
from workers.celery.own_tasks import HELD, left_to_the_next
from workers.notify import threads
from workers.operate import retention
from workers.wire import dispatch, queue_drain


def prune_on() -> None:
    """Prune for a few seconds; another message continues."""
    done = retention.prune()
    if done is not None and done.is_cut_off and any(done.values()):
        dispatch.prune()


#: What a process runs beside its calls, if its worker serves the queues of these roles.
ROLES: dict[str, Callable[[], object]] = {
    dispatch.ADVANCE: scheduler.advance,
    dispatch.SWEEP: supervisor.sweep,
    dispatch.PRUNE: prune_on,
    dispatch.REPORT: threads.wake_up,
}


@shared_task(name=dispatch.TAKE, **HELD)
def take(queue: str) -> None:
    """Agent: claim due steps of a queue, as many as this process has room for."""
    with left_to_the_next():
        shift.take(str(queue), ROLES)


@shared_task(name=dispatch.ADVANCE, **HELD)
def advance() -> None:
    """Scheduler: carry on whatever the rows show as unfinished.

    One more look serves every wake-up that came meanwhile.
    """
    with left_to_the_next():
        scheduler.advance()
        if queue_drain.take_all(dispatch.SCHEDULER_QUEUE, dispatch.ADVANCE):
            scheduler.advance()


@shared_task(name=dispatch.SWEEP, **HELD)
def sweep() -> None:
    """Supervisor: sweep for expired steps."""
    with left_to_the_next():
        supervisor.sweep()


@shared_task(name=dispatch.PRUNE, **HELD)
def prune() -> None:
    """Retention: prune what ended long ago, so that other messages get their turn in between."""
    with left_to_the_next():
        prune_on()


@shared_task(name=dispatch.REPORT, **HELD)
def report() -> None:
    """Relay: notify submitters in the background of this process."""
    queue_drain.take_all(dispatch.REPORTS_QUEUE, dispatch.REPORT)
    threads.wake_up()
