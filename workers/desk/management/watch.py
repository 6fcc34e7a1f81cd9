"""Watches from outside the workers, and does their work for incidents when they do not.

While sweep and poll are in time and deliveries leave, a look reads three rows and does nothing.
Any number of processes may watch: each write checks the rows again.
"""

import logging
from dataclasses import dataclass, field
from time import monotonic

from workers.desk.notify.incident_relay import IncidentRelay
from workers.desk.store import deliveries, delivery_plans, incidents
from workers.rules import lateness
from workers.store import alerts, leases
from workers.supervisor.beat_watchdog import Duty, duties, reason_of

log = logging.getLogger(__name__)

#: Time that workers have for their duties: a restart of all of them takes less.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class WatchResult:
    """The result of one look."""

    #: The duties that are overdue.
    late: list[str] = field(default_factory=list)
    #: How many messages to routes arrived.
    told: int = 0


class Watch:
    """Watches the duties; a duty that was never performed counts from the start of the watch."""

    def __init__(self, *, patience: float = PATIENCE_SECONDS) -> None:
        self._patience = patience
        self._began = monotonic()

    def look(self) -> WatchResult:
        """Raise alerts on overdue duties, gather incidents and tell routes, if no worker does."""
        late = [duty for duty in duties() if self._is_late(duty)]
        waiting = deliveries.seconds_waiting()
        if not late and (waiting is None or waiting < self._patience):
            return WatchResult()
        for duty in late:
            seconds = leases.seconds_since(duty.name)
            params = {"says": ["never"]} if seconds is None else reason_of(duty, seconds)
            params["says"].append("watched")
            alerts.raise_alert(
                "duty_overdue", params={"duty": duty.name, **params}, subject=duty.name
            )
        while incidents.collect() >= incidents.PORTION:
            pass
        incidents.refresh()
        delivery_plans.plan()
        return WatchResult([duty.name for duty in late], IncidentRelay().run())

    def _is_late(self, duty: Duty) -> bool:
        seconds = leases.seconds_since(duty.name)
        if seconds is None:
            return monotonic() - self._began >= self._patience
        return lateness.is_ahead(seconds) or (
            seconds >= self._patience and lateness.is_overdue(seconds, duty.interval)
        )
