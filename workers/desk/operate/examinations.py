"""The duty that has the doctor examine the installation, once a minute."""

from uuid import uuid4

from workers.rules import lateness
from workers.runtime.worker_identity import me
from workers.store import leases

#: Name of the lease row that says when the last round was done.
DOCTOR = "doctor"
INTERVAL_SECONDS = 60.0
#: How long a round may take, with time to store its findings.
LEASE_SECONDS = 60.0
#: A probe that takes longer is costly, and rests for this long after it found nothing wrong.
COSTLY_SECONDS, COSTLY_REST_SECONDS = 1.0, 600.0


def is_due() -> bool:
    """Say whether a round may be due, for callers that ask for one."""
    seconds = leases.seconds_since(DOCTOR)
    return seconds is None or seconds >= INTERVAL_SECONDS or lateness.is_ahead(seconds)


def run() -> bool:
    """Examine the installation if a round is due.  False: none is, or another worker runs it."""
    if not is_due():
        return False
    # Only the process that looks holds the probes in memory.
    from workers.desk.operate import rounds

    with leases.held(DOCTOR, f"{me('doctor')}:{uuid4().hex[:8]}", LEASE_SECONDS) as lease:
        if not lease:
            return False
        rounds.look_over()
    return True
