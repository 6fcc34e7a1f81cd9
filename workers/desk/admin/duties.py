"""The periodic duties, for pages: when each was last performed, and whether it is late."""

from dataclasses import dataclass
from datetime import datetime

from workers.conf import sas
from workers.rules import lateness
from workers.store import leases


@dataclass(frozen=True, slots=True)
class Duty:
    performed_at: datetime | None
    is_late: bool


@dataclass(frozen=True, slots=True)
class Duties:
    """The state of sweep and poll at an instant of the database's clock."""

    now: datetime
    sweep: Duty
    poll: Duty


def read(now: datetime | None = None) -> Duties:
    """Read both duties and the clock in one statement."""
    at, last_times = leases.performed((leases.SWEEP, leases.POLL), now)
    return Duties(
        at,
        _duty(last_times.get(leases.SWEEP), sas.sweep_seconds, at),
        _duty(last_times.get(leases.POLL), sas.poll_seconds, at),
    )


def _duty(performed_at: datetime | None, interval: float, now: datetime) -> Duty:
    seconds = None if performed_at is None else (now - performed_at).total_seconds()
    return Duty(performed_at, lateness.is_overdue(seconds, interval))
