"""The desk's entry points for Celery."""

from celery import shared_task

from workers.celery.own_tasks import HELD, left_to_the_next
from workers.desk import wake_ups
from workers.desk.operate import examinations, health, jobs, releases
from workers.tasks import ROLES
from workers.wire import queue_drain
from workers.wire.dispatch import SCHEDULER_QUEUE

#: Time after which a child process that hangs in a probe is killed; a round ends long before.
EXAMINE_SECONDS = 120


@shared_task(name=wake_ups.RUN_JOBS.task, **HELD)
def run_jobs() -> None:
    """Jobs: act on the next processes, for a second at most.

    The rest is left to another message, so that other messages in the queue come in between.
    """
    with left_to_the_next():
        queue_drain.take_all(SCHEDULER_QUEUE, wake_ups.RUN_JOBS.task)
        jobs.run()


@shared_task(name=wake_ups.KEEP_HEALTH.task, **HELD)
def keep_health() -> None:
    """Health: roll minutes up for a few seconds at most; ask for a doctor run if one is due.

    The rest is left to another message.
    """
    with left_to_the_next():
        _keep_health()


def _keep_health() -> None:
    # First, because the doctor does not depend on figures.
    if examinations.is_due():
        wake_ups.EXAMINE.send()
    result = health.run()
    releases.note_own()
    if result is not None and result.is_behind:
        wake_ups.KEEP_HEALTH.send()


ROLES[wake_ups.RUN_JOBS.task] = jobs.run
ROLES[wake_ups.KEEP_HEALTH.task] = _keep_health


@shared_task(name=wake_ups.EXAMINE.task, time_limit=EXAMINE_SECONDS, **HELD)
def examine() -> None:
    """Doctor: examine the installation and store the findings; see ``doctor.rounds``."""
    with left_to_the_next():
        examinations.run()
