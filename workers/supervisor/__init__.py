"""The Supervisor: a periodic sweep for expired steps.  It resets them, or marks them in
error; the Scheduler does the rest.

It knows no workflow, agent, policy or order.  Any number may run: a lease keeps all but one
idle, and one that acts after its lease is over changes nothing wrongly, because each row is
judged again under its lock.
"""

import logging
from dataclasses import dataclass
from uuid import uuid4

from workers.conf import sas
from workers.notify import ping
from workers.operate import health
from workers.runtime.worker_identity import me
from workers.store import alert_resolution, deliveries, delivery_plans, incidents, leases
from workers.store.claims import find_work
from workers.store.expire import expire_claims
from workers.store.flow import flow_control
from workers.store.locked import step_index
from workers.wire import dispatch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did.  ``had_lease`` False: another supervisor was at it."""

    had_lease: bool
    reset: int = 0
    errors: int = 0
    extended: int = 0


def sweep() -> Swept:
    """Take every expired step, in batches, and nudge the Scheduler where there is work."""
    worker = me("supervisor")
    gap = leases.seconds_since(leases.SWEEP)
    holder = f"{worker}:{uuid4().hex[:8]}"
    with leases.held(leases.SWEEP, holder, sas.lease_seconds) as lease:
        if not lease:
            return Swept(had_lease=False)
        extended = _extend_after(gap)
        reset, errors = _expire(worker, lease)
        while step_index.put_off() >= sas.sweep_batch and lease.renew():
            pass
        overdue = expire_claims.flag_overdue()
        expire_claims.escalate(worker)
        flow_control.alert_long_open()
        # Before alerts are closed, so that each belongs to an incident, however soon it is over.
        while incidents.collect() >= incidents.PORTION and lease.renew():
            pass
        alert_resolution.resolve_ended()
        incidents.refresh()
        delivery_plans.plan()
    if reset or errors or overdue or find_work.has_lost():
        dispatch.nudge()
    if deliveries.seconds_waiting() is not None or ping.is_due():
        dispatch.report()
    if health.is_due():
        dispatch.keep_health()
    if reset or errors or extended:
        log.info("swept", extra={"reset": reset, "errors": errors, "extended": extended})
    return Swept(True, reset, errors, extended)


def _expire(worker: str, lease: leases.Held) -> tuple[int, int]:
    """Take every expired step, in batches; return how many were reset, and ended in error."""
    reset = errors = 0
    while True:
        expired = expire_claims.expire(worker)
        reset += expired.reset
        errors += expired.errors
        # A lease that was lost is another supervisor's, who is at the same steps by now.
        if expired.reset + expired.errors < sas.sweep_batch or not lease.renew():
            return reset, errors


def _extend_after(gap: float | None) -> int:
    """Extend what expired while three or more sweeps could not run."""
    if gap is None or gap < 3 * sas.sweep_seconds:
        return 0
    return expire_claims.extend_gap(gap, 2 * sas.poll_seconds)
