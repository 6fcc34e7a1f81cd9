"""Duties: periodic work besides recovery and claiming, each with a lease of its own.

Packages above the Supervisor and the Scheduler register their duties here; these two perform
whatever is registered, without importing it.  A duty that raises keeps its exception on its lease,
and holds up neither the others nor its caller.
"""

import logging
from collections.abc import Callable, Mapping
from enum import Enum, auto
from uuid import uuid4

from workers.conf import sas
from workers.exceptions import AWAY, first_line
from workers.store import leases
from workers.store.leases import HeldLease

log = logging.getLogger(__name__)

Duty = Callable[[HeldLease], object]


class When(Enum):
    """When a registered duty is performed.  None runs before recovery, which depends on none."""

    #: With each sweep, after recovery, even if that raised.
    SWEEP = auto()
    #: With each poll of the Scheduler.
    POLL = auto()


#: How often duties are performed while there is no news: an alert has them performed at once.
REST_SECONDS = 10.0

_registered: dict[str, tuple[When, Duty]] = {}
#: Returns SQL that is true while a duty has nothing to do; empty: it may have.
Rests = Callable[[], str]
_rests: dict[str, Rests] = {}


def duty(
    name: str, when: When, *, before: str = "", rests: Rests | None = None
) -> Callable[[Duty], Duty]:
    """Register a duty under the name of its lease; a decorator.

    One that ``rests`` costs no statement of its own.  Duties are performed in the order of
    registration, except those that come ``before`` one that is already registered.
    """

    def register(function: Duty) -> Duty:
        if name in _registered:
            raise ValueError(f"The duty {name!r} is registered already. Give it another name.")
        later = list(_registered)[list(_registered).index(before) :] if before else []
        _registered[name] = (when, function)
        if rests is not None:
            _rests[name] = rests
        for later_name in later:
            _registered[later_name] = _registered.pop(later_name)
        return function

    return register


def registered(when: When) -> dict[str, Duty]:
    """Return the duties registered for a moment, by name."""
    return {name: function for name, (at, function) in _registered.items() if at is when}


def _due(duties: Mapping[str, Duty]) -> dict[str, Duty]:
    """Return the duties that are due: all while an alert is news, else every ``REST_SECONDS``.

    One statement, so that an installation at rest costs its database next to nothing.
    """
    idle = {name: sql for name in duties if name in _rests and (sql := _rests[name]())}
    resting = leases.resting(duties, REST_SECONDS, idle)
    return {name: function for name, function in duties.items() if name not in resting}


def perform(duties: Mapping[str, Duty], worker: str) -> list[str]:
    """Perform the duties that are due and not held; return the names of those that raised.

    Raises nothing: a failure is logged, and kept on the lease.
    """
    failed = []
    for name, function in _due(duties).items():
        holder = f"{worker}:{uuid4().hex[:8]}"
        try:
            with leases.held(name, holder, sas.lease_seconds) as lease:
                if lease:
                    function(lease)
        except AWAY as away:
            failed.append(name)
            log.warning("duty_failed", extra={"duty": name, "reason": first_line(away)})
        except Exception:
            failed.append(name)
            log.exception("duty_failed", extra={"duty": name})
    return failed
