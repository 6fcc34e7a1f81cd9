"""Working through jobs: small ones at once, large ones in slices, beside the Scheduler's work."""

import logging
from collections.abc import Mapping
from datetime import datetime
from time import monotonic
from typing import Any
from uuid import uuid4

from django.db import InterfaceError, OperationalError

from workers.conf import sas
from workers.desk import wake_ups
from workers.desk.rules.job_verbs import QUIET_VERBS
from workers.desk.states import JOBS
from workers.desk.store import jobs
from workers.desk.store.jobs import ChunkResult
from workers.runtime.worker_identity import me
from workers.store import leases
from workers.wire.wake_ups import wake_scheduler

log = logging.getLogger(__name__)

#: A job of at most this many processes is worked through by its caller.
AT_ONCE = 50
#: Length of a slice of job work; then other messages in the queue get their turn.
SLICE_SECONDS = 1.0
#: Shorter waits for a rate are not worth a message each.
SHORTEST_WAIT_SECONDS = 0.2


def start(
    verb: str,
    seen: Mapping[int, int],
    *,
    actor: str,
    reason: str,
    source: Mapping[str, Any],
    params: Mapping[str, Any] | None = None,
    rate_per_second: float | None = None,
    sample: int = 0,
) -> int:
    """Create a job on a frozen set and have it worked; return its number.

    A small job without a rate is worked through before this returns, or to the end of its
    sample.  Raises ``StateError`` for an unknown verb.
    """
    job_id = jobs.create(
        verb,
        seen,
        actor=actor,
        reason=reason,
        source=source,
        params=params,
        rate_per_second=rate_per_second,
        sample=sample,
    )
    if len(seen) <= AT_ONCE and rate_per_second is None:
        while not _work(job_id, AT_ONCE).is_over:
            pass
        if verb not in QUIET_VERBS:
            wake_scheduler()
    else:
        wake_ups.wake_job_runner()
    return job_id


def steer(job_id: int, act: str, *, actor: str, reason: str = "") -> None:
    """Pause, resume or stop a job; raise ``StateError`` if its state forbids that."""
    jobs.steer(job_id, act, actor=actor, reason=reason)
    if act == "resume":
        wake_ups.wake_job_runner()


def run(now: datetime | None = None) -> None:
    """Work the running jobs in turn, a chunk each, for a slice of time; ask for the next slice.

    A lease keeps all but one worker idle.  A worker that goes on after its lease has expired does
    no harm: each chunk locks its job.
    """
    holder = f"{me('jobs')}:{uuid4().hex[:8]}"
    with leases.held(JOBS, holder, sas.lease_seconds) as lease:
        if not lease:
            return
        wait = _slice(lease, monotonic() + SLICE_SECONDS, now)
    if wait == 0:
        wake_ups.RUN_JOBS.send()
    elif wait is not None and wait < sas.poll_seconds:
        wake_ups.RUN_JOBS.after(max(wait, SHORTEST_WAIT_SECONDS))


def _slice(lease: leases.HeldLease, end: float, now: datetime | None) -> float | None:
    """Work for a slice; return the seconds until there is more to do.  None: no job runs."""
    while job_ids := jobs.running():
        waits = []
        has_landed = False
        for job_id in job_ids:
            chunk = _work(job_id, int(sas.job_batch), now)
            has_landed = has_landed or bool(chunk.landed)
            if not chunk.is_over:
                waits.append(chunk.wait_seconds)
            if monotonic() >= end or not lease.renew():
                waits.append(0.0)
                break
        if has_landed:
            wake_scheduler()
        if waits and (min(waits) > 0 or monotonic() >= end):
            return min(waits)
    return None


def _work(job_id: int, most: int, now: datetime | None = None) -> ChunkResult:
    """Work a chunk; if it fails, work its items one by one, so that none holds up the others."""
    try:
        return jobs.work(job_id, most, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        log.exception("job_chunk_failed", extra={"job": job_id, "processes": most})
        if most == 1:
            return jobs.refuse_next(job_id, type(error).__name__, now)
    landed = refused = 0
    for _ in range(most):
        chunk = _work(job_id, 1, now)
        landed, refused = landed + chunk.landed, refused + chunk.refused
        if chunk.is_over or chunk.wait_seconds:
            return ChunkResult(landed, refused, chunk.is_over, chunk.wait_seconds)
    return ChunkResult(landed, refused)
