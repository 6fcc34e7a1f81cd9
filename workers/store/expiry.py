"""Expired steps: started, past their deadline, and without a reply."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from workers.conf import sas
from workers.locked import StepRow
from workers.states import StepState
from workers.store import rows, sql

#: What the journal and the row say of a step nobody answered for.
EXPIRED = {"kind": "expired", "code": "expired", "message": "no reply by complete-by"}


@dataclass(frozen=True, slots=True)
class Expired:
    reset: int = 0
    errors: int = 0


@rows.again_when_lost
def expire(worker: str, now: datetime | None = None) -> Expired:
    """Take one batch of expired steps: pending again below the threshold, else error.

    What a step's error means for its process is left to the Scheduler: the process is
    flagged for a decision.  A step that was settled, filed or expired by somebody else in
    the meantime is left alone, so any number of supervisors may do this at once.
    """
    with transaction.atomic():
        at = sql.read_clock(now)
        due = at - timedelta(seconds=sas.expiry_grace_seconds)
        found = sql.fetch(
            "SELECT s.id, s.process_id FROM workers_step s"
            " JOIN workers_process p ON p.id = s.process_id"
            " WHERE s.state = 'processing' AND s.complete_by < %s AND s.reply IS NULL"
            " ORDER BY s.complete_by LIMIT %s " + sql.lock_rows("p", skip_locked=True),
            [sql.instant_text(due), int(sas.sweep_batch)],
        )
        lockeds = rows.lock((process_id for _, process_id in found), now, skip_locked=True)
        wanted = {step_id for step_id, _ in found}
        errors = reset = 0
        for locked in lockeds:
            for step in locked.steps:
                if step.id in wanted and is_expired(step, due):
                    is_error = locked.fail(step, "expired", worker, EXPIRED)
                    errors += is_error
                    reset += not is_error
                    if step.state != StepState.PENDING:
                        locked.touch_process()
                        locked.process.needs_decision = True
        # A reply filed after the steps were read saves its step: filing takes no process lock.
        rows.write(lockeds)
    return Expired(reset, errors)


def extend_gap(gap_seconds: float, extension_seconds: float, now: datetime | None = None) -> int:
    """Extend the deadlines that passed while no sweep could run; return how many.

    After an outage of the database the replies to these claims may lie in the broker's
    queue: they get the time to be settled before anything counts as a failure.  A deadline
    is extended once and never again, however late the next sweeps are.
    """
    at = sql.read_clock(now)
    as_it_was_set = sql.later("started_at", "(timeout_seconds + 1)")
    wanted = (
        "SELECT id FROM workers_step WHERE state = 'processing' AND complete_by < %s"
        f" AND complete_by > %s AND complete_by < {as_it_was_set} AND reply IS NULL ORDER BY id "
        + sql.lock_rows("workers_step")
    )
    return sql.execute(
        f"UPDATE workers_step SET complete_by = %s WHERE id IN ({wanted})",
        [
            sql.instant_text(at + timedelta(seconds=extension_seconds)),
            sql.instant_text(at),
            sql.instant_text(at - timedelta(seconds=gap_seconds)),
        ],
    )


def is_expired(step: StepRow, due: datetime) -> bool:
    return (
        step.state == StepState.PROCESSING
        and step.complete_by is not None
        and step.complete_by < due
        and not step.is_filed
    )
