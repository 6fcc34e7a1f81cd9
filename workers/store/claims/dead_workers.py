"""Noting on their steps that the worker of claims has died."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from workers.rules import dead_workers
from workers.rules.rows import StepRow
from workers.runtime.failpoints import durable
from workers.store.db import dialect
from workers.store.locked import load


@load.again_when_lost
def note(claims: Mapping[int, UUID], how: str, now: datetime | None = None) -> list[int]:
    """Note on steps, by their claims, that the worker has died; return which of them it was.

    Only of started claims that hold, are past no deadline and have no reply: what was answered
    needs no reason, and what nobody has started is sent again.  Counts and moves nothing.
    """
    with durable("dead_workers.note"):
        rows = dialect.fetch(
            f"SELECT process_id FROM workers_step WHERE {dialect.among('id')}",
            [dialect.id_list(sorted(claims))],
        )
        lockeds = load.lock(sorted({process_id for (process_id,) in rows}), now)
        noted = []
        for locked in lockeds:
            for step in locked.steps:
                if _is_unanswered(step, claims.get(step.id), locked.now):
                    locked.touch(step)
                    step.fault = dead_workers.fault_of(step, how).noted(locked.now)
                    noted.append(step.id)
        load.write(lockeds)
    return noted


def _is_unanswered(step: StepRow, claim_id: UUID | None, now: datetime) -> bool:
    return (
        claim_id is not None
        and step.claim_id == claim_id
        and step.is_at_work
        and step.complete_by is not None
        and step.complete_by > now
        and not step.is_filed
    )
