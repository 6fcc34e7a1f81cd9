"""Unstarted claims: send lost ones again, or release them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from workers.conf import sas
from workers.rules.backoff import dispatch_allowance
from workers.rules.rows import AlertCall, Entry
from workers.rules.transitions import LockedProcess
from workers.runtime.failpoints import durable
from workers.states import StepState
from workers.store import alerts, journal
from workers.store.claims.claim_steps import Claim
from workers.store.db import bulk_update, dialect
from workers.store.locked import load


@load.again_when_lost
def release(
    claims: Sequence[Claim],
    worker: str,
    reason: str,
    now: datetime | None = None,
    *,
    delay_seconds: float = 0,
) -> int:
    """Release claims that no agent has started; count no failure; return how many.

    For claims that could not be sent; they may be claimed again after the delay.  A claim that an
    agent has started meanwhile (its message did arrive) is left to that agent.
    """
    ids = {claim.step_id: claim.claim_id for claim in claims}
    with durable("unstarted.release"):
        processes = load.lock((claim.process_id for claim in claims), now)
        count = sum(_release(locked, ids, worker, reason, delay_seconds) for locked in processes)
        load.write(processes)
    return count


def _release(
    locked: LockedProcess, ids: dict[int, UUID], worker: str, reason: str, delay_seconds: float
) -> int:
    count = 0
    for step in locked.steps:
        unstarted = step.started_at is None and step.state == StepState.PROCESSING
        if unstarted and step.claim_id == ids.get(step.id):
            locked.touch(step)
            step.not_before = locked.now + timedelta(seconds=delay_seconds)
            locked.move(step, StepState.PENDING, "handed_back", worker, reason=reason)
            count += 1
    return count


def lost(worker: str, now: datetime | None = None) -> list[Claim]:
    """Return claims that no agent started within their allowance, to be sent again unchanged.

    The claim stays the same, so a late first message is as good as the second.  Counts no failure;
    the allowance doubles, and an alert is raised when it has been lost many times.
    """
    with durable("unstarted.lost"):
        at = dialect.read_clock(now)
        rows = dialect.fetch(
            "SELECT t.id, t.process_id, t.claim_id, t.attempt, t.name, t.agent,"
            # A step with a fault runs alone: this query does not look at the kind of fault.
            " t.timeout_seconds, t.idempotency_key, t.fault IS NOT NULL, t.undoes_id,"
            " t.is_in_doubt,"
            " EXISTS (SELECT 1 FROM workers_flow f WHERE f.agent = t.agent"
            " AND f.rate_per_second IS NOT NULL), t.lost_count"
            " FROM workers_live l JOIN workers_step t ON t.id = l.step_id"
            " JOIN workers_process p ON p.id = t.process_id"
            " WHERE l.look_at < %s AND t.state = 'processing'"
            " AND t.complete_by IS NULL AND t.dispatch_by < %s"
            # Lock the process, too: a session that holds it may be ending the claim.
            " ORDER BY t.id LIMIT %s " + dialect.lock_rows("p, t", skip_locked=True),
            [*[dialect.instant_text(at)] * 2, int(sas.claim_batch)],
        )
        claims = [Claim.of_row(row[:-1]) for row in rows]
        again = [
            {"id": row[0], "lost_count": row[-1] + 1, "dispatch_by": at + _allowance(row[-1] + 1)}
            for row in rows
        ]
        if again:
            bulk_update.update(
                "workers_step",
                {"id": "id", "lost_count": "int", "dispatch_by": "instant"},
                again,
                "lost_count = v.lost_count, dispatch_by = v.dispatch_by",
                "true",
                are_locked=True,
            )
        _report_lost(claims, [row[-1] + 1 for row in rows], worker, at)
    return claims


def _allowance(lost_count: int) -> timedelta:
    return timedelta(
        seconds=dispatch_allowance(
            lost_count, sas.dispatch_allowance_seconds, sas.dispatch_allowance_cap_seconds
        )
    )


def _report_lost(claims: list[Claim], counts: list[int], worker: str, at: datetime) -> None:
    journal.write(
        [
            Entry(
                process_id=claim.process_id,
                step_id=claim.step_id,
                event="lost",
                actor=worker,
                detail={
                    "step": claim.step,
                    "agent": claim.agent,
                    "attempt": claim.attempt,
                    "lost_count": count,
                },
            )
            for claim, count in zip(claims, counts, strict=True)
        ],
        at,
    )
    agents = sorted(
        {
            claim.agent
            for claim, count in zip(claims, counts, strict=True)
            if count >= sas.lost_alert_count
        }
    )
    alerts.write(
        [
            AlertCall(
                cause=f"unstarted:agent:{agent}",
                code="claims_unstarted",
                params={"agent": agent},
            )
            for agent in agents
        ],
        at,
    )
