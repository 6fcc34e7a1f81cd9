"""Wake agent processes for due steps, also for those that only other workers know.

A wake-up reaches any worker of its queue.  If another live worker's code knows more, as during a
deployment, a look that finds such work due passes the wake-up on, until it reaches that worker.
"""

import logging
from collections.abc import Collection
from datetime import datetime

from workers.definitions import registry
from workers.definitions.children import CHILDREN
from workers.runtime import worker_pulse
from workers.store.claims import find_work
from workers.wire import dispatch

#: Time before a wake-up is passed on, or before the queue is read again after a message for others:
#: this limits how many per second a process sends.
PASS_ON_SECONDS = 0.1

log = logging.getLogger(__name__)


def wake(agents: Collection[str]) -> None:
    """Wake the processes that may take due steps of agents; leaves out agents unknown here.

    The children of steps are the Scheduler's.
    """
    if CHILDREN in agents:
        dispatch.wake_scheduler_later()
    queues = {registry.agent(name).queue for name in agents if registry.has_agent(name)}
    for queue in sorted(queues):
        dispatch.wake_agents_later(queue)


def pass_on(now: datetime | None = None) -> None:
    """Wake other workers if work is left to them; raises nothing.  Usually runs no query."""
    if not worker_pulse.is_behind():
        return
    try:
        work = find_work.left_to_others(now)
    except Exception:
        # Earlier work is not affected; the poll of a worker that knows it finds the rest.
        log.exception("passing_on_failed")
        return
    for queue in sorted(work.queues):
        dispatch.wake_agents_after(queue, PASS_ON_SECONDS)
    if work.is_for_schedulers:
        dispatch.wake_scheduler_after(PASS_ON_SECONDS)
