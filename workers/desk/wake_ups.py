"""The desk's wake-ups: what asks for its work, which timers ask for, too."""

from workers.wire import wake_ups
from workers.wire.dispatch import REPORTS_QUEUE, SCHEDULER_QUEUE, WakeUp

#: A slice of the work of jobs; else the poll asks.
RUN_JOBS = WakeUp("workers.run_jobs", SCHEDULER_QUEUE, 0.05)
#: A round of the figures; else the sweep asks.
KEEP_HEALTH = WakeUp("workers.keep_health", REPORTS_QUEUE)
#: A round of the doctor; else the next round of the figures asks.
EXAMINE = WakeUp("workers.examine", REPORTS_QUEUE)


def wake_job_runner() -> None:
    """Ask for the work of jobs once this transaction is committed."""
    wake_ups.on_commit(RUN_JOBS.later)
