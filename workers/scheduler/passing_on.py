"""Waking others for what is left to them: what they know and the code of this process does not.

A wake-up reaches any worker of its queue.  Where another live worker's code knows more, as during
a deployment, a look that finds such work due passes the wake-up on, until it reaches that one.
"""

import logging
from datetime import datetime

from workers.runtime import worker_pulse
from workers.store.claims import left_to_others
from workers.wire import dispatch

#: Time before a wake-up is passed on, or a message that others can serve is met again: so many a
#: second at most leave a process.
PASS_ON_SECONDS = 0.1

log = logging.getLogger(__name__)


def pass_on(now: datetime | None = None) -> None:
    """Wake others where work is left to them; raises nothing, and at other times asks nothing."""
    if not worker_pulse.is_behind():
        return
    try:
        left = left_to_others.find(now)
    except Exception:
        # Whatever was done before stands; the poll of a worker that knows it finds the work.
        log.exception("passing_on_failed")
        return
    for queue in sorted(left.queues):
        dispatch.wake_agents_after(queue, PASS_ON_SECONDS)
    if left.is_for_schedulers:
        dispatch.nudge_after(PASS_ON_SECONDS)
