"""The timer beside Beat: every worker's parent process watches the periodic duties.

When the sweep or the poll is overdue, because Beat is dead, cut off or switched off, or waits
for a clock that was set back, the worker asks for it itself and an operator is told.  A dead Beat
costs an alert, not an order.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from celery import bootsteps
from django.db import InterfaceError, OperationalError, connections

from workers.conf import sas
from workers.exceptions import first_line
from workers.rules import lateness
from workers.runtime import timestamps
from workers.runtime.db_connections import apart_from_forks
from workers.store import alerts, leases, live_code
from workers.store.db import dialect
from workers.wire import dispatch, queue_drain

log = logging.getLogger(__name__)

#: How often the timer looks.
LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Duty:
    """A periodic duty: its lease, how often it is due, who reads its messages, who asks for it."""

    name: str
    interval: float
    queue: str
    trigger: Callable[[], bool]


def duties() -> list[Duty]:
    """Return the duties that orders heal by."""
    return [
        Duty(leases.SWEEP, sas.sweep_seconds, dispatch.SUPERVISOR_QUEUE, dispatch.trigger_sweep),
        Duty(leases.POLL, sas.poll_seconds, dispatch.SCHEDULER_QUEUE, dispatch.nudge),
    ]


def look() -> list[str]:
    """Trigger the duties that are overdue; return their names."""
    triggered = []
    for duty in duties():
        seconds = leases.seconds_since(duty.name)
        if not lateness.is_overdue(seconds, duty.interval):
            continue
        # Before this worker asks for it, too.
        params = None if seconds is None else reason_of(duty, seconds)
        duty.trigger()
        triggered.append(duty.name)
        if params:
            params["says"].append("triggered")
            alerts.raise_alert(
                "duty_overdue", params={"duty": duty.name, **params}, subject=duty.name
            )
    _alert_failing(set(triggered))
    return triggered


def _alert_failing(told: set[str]) -> None:
    """Raise an alert of each other duty that raises again and again, whoever asks for it."""
    for failure in leases.failing():
        if failure.name not in told:
            params = {"says": ["raises"], "error": failure.error}
            alerts.raise_alert(
                "duty_overdue", params={"duty": failure.name, **params}, subject=failure.name
            )


def reason_of(duty: Duty, seconds: float) -> dict[str, Any]:
    """Return how late a duty is and why, as far as that is known, so that the right thing is fixed.

    These are the parameters of an alert: which sentences it says, and what stands in them.  Where
    it was asked for and nobody listens, Beat is not to blame.
    """
    if lateness.is_ahead(seconds):
        return {"says": ["ahead"], "seconds": f"{-seconds:.0f}"}
    # It stands in the incident for a while after the duty is on time again.
    seen_at = timestamps.text_of(dialect.read_clock())
    late = {"seconds": f"{seconds:.0f}", "seen_at": seen_at}
    # Somebody performs it, and fails: nobody else is to blame.
    for failure in leases.failing(least=1):
        if failure.name == duty.name:
            return {"says": ["late", "raises"], **late, "error": failure.error}
    why, waiting = "stuck", None
    # The other workers look, too: what one of them has just asked for is no cause.
    if not leases.is_stuck(duty.name, sas.lease_seconds):
        waiting = queue_drain.count(duty.queue)
        why = "no_broker" if waiting is None else "unasked"
        if waiting:
            # What waits for workers that live waits for their processes.
            why = "busy" if live_code.alive().serving(duty.queue) else "unread"
    params = {"says": ["late", why], **late}
    return params | ({"queue": duty.queue, "waiting": waiting} if waiting else {})


class OverdueTimer(bootsteps.StartStopStep):
    """A thread in the worker's parent process that looks every few seconds."""

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        self._stopped = threading.Event()
        super().__init__(parent, **kwargs)

    def start(self, parent: Any) -> None:
        self._stopped.clear()
        threading.Thread(target=self._watch, name="overdue-timer", daemon=True).start()

    def stop(self, parent: Any) -> None:
        self._stopped.set()

    terminate = stop

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            with apart_from_forks():
                self._look()

    def _look(self) -> None:
        try:
            look()
        except (OperationalError, InterfaceError) as away:
            log.warning("overdue_timer_failed", extra={"reason": first_line(away)})
        except Exception:
            # Whatever it was: this thread is the only guard against a dead Beat.
            log.warning("overdue_timer_failed", exc_info=True)
        finally:
            # Not kept: the pool may fork a child at any time, and a child must not
            # inherit a connection.
            connections.close_all()
