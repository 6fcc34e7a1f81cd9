"""The desk's wake-ups: messages that ask for work at once; a timer asks for it, too."""

from workers.wire import wake_ups
from workers.wire.dispatch import REPORTS_QUEUE, SCHEDULER_QUEUE, WakeUp

#: Asks for a slice of job work; the poll asks, too.
RUN_JOBS = WakeUp("workers.run_jobs", SCHEDULER_QUEUE, 0.05)
#: Asks for a round of figures; the sweep asks, too.
KEEP_HEALTH = WakeUp("workers.keep_health", REPORTS_QUEUE)
#: Asks for a round of the doctor; the next round of figures asks, too.
EXAMINE = WakeUp("workers.examine", REPORTS_QUEUE)


def wake_job_runner() -> None:
    """Ask for job work once this transaction is committed."""
    wake_ups.on_commit(RUN_JOBS.later)
