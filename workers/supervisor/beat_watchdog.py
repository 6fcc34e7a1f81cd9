"""A watchdog for Beat: every worker's parent process watches the periodic duties.

When the sweep or the poll is overdue, because Beat is dead, cut off or switched off, or waits for
a clock that was set back, the worker triggers it itself and raises an alert.  A dead Beat costs an
alert, not an order.
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
from workers.store import alerts, leases, live_workers
from workers.store.db import dialect
from workers.wire import dispatch, queue_drain

log = logging.getLogger(__name__)

#: How often the watchdog looks.
LOOK_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Duty:
    """A periodic duty: its lease, its interval, its queue, and the function that triggers it."""

    name: str
    interval: float
    queue: str
    trigger: Callable[[], bool]


def duties() -> list[Duty]:
    """Return the duties by which orders heal."""
    return [
        Duty(leases.SWEEP, sas.sweep_seconds, dispatch.SUPERVISOR_QUEUE, dispatch.trigger_sweep),
        Duty(leases.POLL, sas.poll_seconds, dispatch.SCHEDULER_QUEUE, dispatch.wake_scheduler),
    ]


def look() -> list[str]:
    """Trigger the duties that are overdue; return their names."""
    triggered = []
    watched = duties()
    ages, failures = leases.ages_and_failures([duty.name for duty in watched])
    for duty in watched:
        seconds = ages.get(duty.name)
        if not lateness.is_overdue(seconds, duty.interval):
            continue
        # Find the reason before this worker triggers the duty.
        params = None if seconds is None else reason_of(duty, seconds)
        duty.trigger()
        triggered.append(duty.name)
        if params:
            params["says"].append("triggered")
            alerts.raise_alert(
                "duty_overdue", params={"duty": duty.name, **params}, subject=duty.name
            )
    for failure in failures:
        # Whatever triggers it.
        if failure.name not in triggered:
            params = {"says": ["raises"], "error": failure.error}
            alerts.raise_alert(
                "duty_overdue", params={"duty": failure.name, **params}, subject=failure.name
            )
    return triggered


def reason_of(duty: Duty, seconds: float) -> dict[str, Any]:
    """Return how late a duty is and why, as far as known, so that the right thing gets fixed.

    The parameters of an alert: the keys of its sentences, and their values.  If the duty was
    requested and no worker listens, Beat is not the cause.
    """
    if lateness.is_ahead(seconds):
        return {"says": ["ahead"], "seconds": f"{-seconds:.0f}"}
    # The incident shows this for a while after the duty is on time again.
    seen_at = timestamps.text_of(dialect.read_clock())
    late = {"seconds": f"{seconds:.0f}", "seen_at": seen_at}
    # A worker performs it and fails: that is the cause.
    for failure in leases.failing(least=1):
        if failure.name == duty.name:
            return {"says": ["late", "raises"], **late, "error": failure.error}
    cause, count = "stuck", None
    # Other workers watch, too: a run that one of them has just triggered is no cause.
    if not leases.is_stuck(duty.name, sas.lease_seconds):
        count = queue_drain.count(duty.queue)
        cause = "no_broker" if count is None else "unasked"
        if count:
            # With live workers on the queue, the messages wait for free processes.
            cause = "busy" if live_workers.alive().serving(duty.queue) else "unread"
    params = {"says": ["late", cause], **late}
    return params | ({"queue": duty.queue, "waiting": count} if count else {})


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
            # Catch everything: this thread is the only guard against a dead Beat.
            log.warning("overdue_timer_failed", exc_info=True)
        finally:
            # Not kept: the pool may fork a child at any time, and a child must not
            # inherit a connection.
            connections.close_all()
