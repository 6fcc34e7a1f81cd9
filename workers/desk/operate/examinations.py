"""The duty that has the doctor examine the installation, once a minute.

Rounds register themselves, in an app's module ``doctor``: it is a layer above this one.
"""

import logging
from collections.abc import Callable
from uuid import uuid4

from workers.definitions import discovery
from workers.rules import lateness
from workers.runtime.worker_identity import me
from workers.store import leases

log = logging.getLogger(__name__)

#: Name of the lease row that says when the last round was done.
DOCTOR = "doctor"
INTERVAL_SECONDS = 60.0
#: How long a round may take, with time to store its findings.
LEASE_SECONDS = 60.0
#: A probe that takes longer is costly, and rests for this long after it found nothing wrong.
COSTLY_SECONDS, COSTLY_REST_SECONDS = 1.0, 600.0

_rounds: list[Callable[[], None]] = []


def register(look_over: Callable[[], None]) -> Callable[[], None]:
    """Have a function called in each round; a decorator.  It bounds its time itself."""
    _rounds.append(look_over)
    return look_over


def is_due() -> bool:
    """Say whether a round may be due, for callers that ask for one."""
    seconds = leases.seconds_since(DOCTOR)
    return seconds is None or seconds >= INTERVAL_SECONDS or lateness.is_ahead(seconds)


def run() -> bool:
    """Examine the installation if a round is due.  False: none is, or another worker runs it."""
    if not is_due():
        return False
    discovery.import_modules("doctor")
    with leases.held(DOCTOR, f"{me('doctor')}:{uuid4().hex[:8]}", LEASE_SECONDS) as lease:
        if not lease:
            return False
        _look_over_all()
    return True


def _look_over_all() -> None:
    """Call every round, then raise the first failure."""
    failures = []
    for look_over in _rounds:
        try:
            look_over()
        except Exception as failure:
            log.exception("examination_failed", extra={"round": look_over.__qualname__})
            failures.append(failure)
    if failures:
        raise failures[0]
