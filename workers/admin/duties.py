"""The periodic duties, for pages: when each was last performed, and whether that is long ago."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.conf import sas
from workers.rules import lateness
from workers.store import leases


@dataclass(frozen=True, slots=True)
class Duty:
    performed_at: datetime | None
    is_late: bool


def sweep(now: datetime) -> Duty:
    """Return how the Supervisor's sweep stands; ``now`` is the database's."""
    return _duty(leases.SWEEP, sas.sweep_seconds, now)


def poll(now: datetime) -> Duty:
    """Return how the Scheduler's poll stands."""
    return _duty(leases.POLL, sas.poll_seconds, now)


def _duty(name: str, interval: float, now: datetime) -> Duty:
    seconds = leases.seconds_since(name, now)
    at = None if seconds is None else now - timedelta(seconds=seconds)
    return Duty(at, lateness.is_overdue(seconds, interval))
