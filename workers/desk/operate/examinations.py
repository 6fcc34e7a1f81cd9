"""The duty that has the doctor look over the installation, once a minute.

What looks registers itself, in a module ``doctor``: it stands above whoever asks for it.
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
#: How long a round may take, with time to keep what it found.
LEASE_SECONDS = 60.0
#: What takes longer is costly, and rests for so long where nothing is wrong.
COSTLY_SECONDS, COSTLY_REST_SECONDS = 1.0, 600.0

_rounds: list[Callable[[], None]] = []


def register(look_over: Callable[[], None]) -> Callable[[], None]:
    """Have a function called in each round; a decorator.  It bounds its time itself."""
    _rounds.append(look_over)
    return look_over


def is_due() -> bool:
    """Say whether a round may be due, for those who ask for it."""
    seconds = leases.seconds_since(DOCTOR)
    return seconds is None or seconds >= INTERVAL_SECONDS or lateness.is_ahead(seconds)


def run() -> bool:
    """Look the installation over if that is due.  False: it is not, or somebody else is at it."""
    if not is_due():
        return False
    discovery.import_modules("doctor")
    with leases.held(DOCTOR, f"{me('doctor')}:{uuid4().hex[:8]}", LEASE_SECONDS) as lease:
        if not lease:
            return False
        _look_over_all()
    return True


def _look_over_all() -> None:
    """Call every round; raise what the first that failed has raised once all had their turn."""
    failures = []
    for look_over in _rounds:
        try:
            look_over()
        except Exception as failure:
            log.exception("examination_failed", extra={"round": look_over.__qualname__})
            failures.append(failure)
    if failures:
        raise failures[0]
