"""The desk's entry points for Celery."""

from celery import shared_task

from workers.celery.own_tasks import HELD, left_to_the_next
from workers.desk import wake_ups
from workers.desk.operate import examinations, health, jobs, releases
from workers.wire.dispatch import SCHEDULER_QUEUE
from workers.wire.queue_drain import waiting

#: After so long a child that hangs over a probe is ended; a round ends itself long before.
EXAMINE_SECONDS = 120


@shared_task(name=wake_ups.RUN_JOBS.task, **HELD)
def run_jobs() -> None:
    """Jobs: act on the next processes, for a second at most.

    What is left then is another message's: whatever else waits in the queue comes in between.
    """
    with left_to_the_next(), waiting(SCHEDULER_QUEUE, wake_ups.RUN_JOBS.task, 1000) as take:
        take()
        jobs.run()


@shared_task(name=wake_ups.KEEP_HEALTH.task, **HELD)
def keep_health() -> None:
    """Health: roll minutes up for a few seconds at most; ask for a doctor run if one is due.

    What is left then is another message's.
    """
    with left_to_the_next():
        # First: what the doctor looks at does not depend on figures.
        if examinations.is_due():
            wake_ups.EXAMINE.send()
        done = health.run()
        releases.note_own()
        if done is not None and done.is_behind:
            wake_ups.KEEP_HEALTH.send()


@shared_task(name=wake_ups.EXAMINE.task, time_limit=EXAMINE_SECONDS, **HELD)
def examine() -> None:
    """Doctor: look over the installation and keep what is found; see ``doctor.rounds``."""
    with left_to_the_next():
        examinations.run()
