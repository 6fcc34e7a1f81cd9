"""The dead man's ping: a call each minute while sweeps do their duty, so that silence is noticed.

A monitor outside waits for it (a cron monitor) and raises the alarm when it does not come: when the
database, the broker, Beat or the workers are down, nothing here can.
"""

import logging

from workers.conf import sas
from workers.desk.states import TELLING
from workers.notify.senders import http_post
from workers.notify.senders.delivery import Undelivered
from workers.rules import lateness
from workers.runtime.failpoints import around
from workers.store import leases

log = logging.getLogger(__name__)

#: Name of the lease row that says when the last ping was made.
PING = "ping"
INTERVAL_SECONDS = 60.0


def is_due() -> bool:
    """Say whether a ping may be due, for callers that ask for one."""
    if not sas.ping_url:
        return False
    seconds = leases.seconds_since(PING)
    return seconds is None or seconds >= INTERVAL_SECONDS or lateness.is_ahead(seconds)


class Ping:
    """Calls the monitor, once a minute, if the last sweep was in time and operators are told."""

    kind = "ping"

    def run(self) -> int:
        """Make the ping if it is due; return how many were made."""
        if not is_due():
            return 0
        if lateness.is_overdue(leases.seconds_since(leases.SWEEP), sas.sweep_seconds):
            return 0
        if any(failure.name in TELLING for failure in leases.failing(least=1)):
            return 0
        if not leases.is_due(PING, INTERVAL_SECONDS):
            return 0
        try:
            with around("ping.call"):
                http_post.post(sas.ping_url, b"", {"User-Agent": "sas-ping/1"})
        except Undelivered as problem:
            log.warning("ping_failed", extra={"reason": str(problem)})
            return 0
        return 1
