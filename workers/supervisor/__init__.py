"""The Supervisor: a periodic sweep for expired steps.  It resets them, or ends them in
error; the Scheduler does the rest.

It knows no workflow, agent, policy or order.  Any number may run: a lease keeps all but one idle,
and one that acts after its lease has ended does no harm, because each row is checked again under
its lock.

Recovery depends on no other duty.  Only a look whether the database lost commits comes before it;
later ones, such as incidents, routes and figures, are registered by other packages
(``store.duties``).
"""

import logging
from dataclasses import dataclass
from uuid import uuid4

from workers.conf import sas
from workers.exceptions import AWAY
from workers.runtime.worker_identity import me
from workers.store import duties, leases
from workers.store.duties import Duty, When
from workers.store.expire import expire_claims
from workers.store.leases import HeldLease
from workers.store.operate import lost_commits
from workers.wire import dispatch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep did.  ``had_lease`` False: another supervisor was sweeping."""

    had_lease: bool
    reset: int = 0
    errors: int = 0
    extended: int = 0


def _watch_commits(_lease: HeldLease) -> None:
    if why := lost_commits.look():
        log.error("commits_lost", extra={"why": why})


#: Before recovery: in a database that lost commits, an expired step may have been done.
FIRST: dict[str, Duty] = {"commit_watch": _watch_commits}


def sweep() -> SweepResult:
    """Recover expired steps, then perform the duties registered for each sweep.

    An exception of recovery is raised after the duties, which turn an alert about it into an
    incident.
    """
    duties.perform(FIRST, me("supervisor"))
    try:
        result = _recover()
    except AWAY:
        raise
    except Exception:
        duties.perform(duties.registered(When.SWEEP), me("supervisor"))
        raise
    if result.had_lease:
        duties.perform(duties.registered(When.SWEEP), me("supervisor"))
    return result


def _recover() -> SweepResult:
    """Expire every overdue step, in batches, and wake the Scheduler if there is work."""
    worker = me("supervisor")
    holder = f"{worker}:{uuid4().hex[:8]}"
    with leases.held(leases.SWEEP, holder, sas.lease_seconds) as lease:
        if not lease:
            return SweepResult(had_lease=False)
        look = expire_claims.look()
        extended = reset = errors = overdue = 0
        if look.has_claims:
            # Since the last sweep that was performed: this one is not yet.
            extended = _extend_after(leases.seconds_since(leases.SWEEP))
            reset, errors = _expire(worker, lease)
        if look.has_dates:
            overdue = expire_claims.flag_overdue()
            expire_claims.escalate(worker)
    if reset or errors or overdue:
        dispatch.wake_scheduler()
    if reset or errors or extended:
        log.info("swept", extra={"reset": reset, "errors": errors, "extended": extended})
    return SweepResult(True, reset, errors, extended)


def _expire(worker: str, lease: leases.HeldLease) -> tuple[int, int]:
    """Expire every overdue step, in batches; return how many were reset, and ended in error."""
    reset = errors = 0
    while True:
        result = expire_claims.expire(worker)
        reset += result.reset
        errors += result.errors
        # If the lease was lost, another supervisor has it and works on the same steps.
        if result.reset + result.errors < sas.sweep_batch or not lease.renew():
            return reset, errors


def _extend_after(gap: float | None) -> int:
    """Extend deadlines that passed while three or more sweeps could not run."""
    if gap is None or gap < 3 * sas.sweep_seconds:
        return 0
    return expire_claims.extend_gap(gap, 2 * sas.poll_seconds)
