"""Release the claims of a worker that was stopped in the middle of its calls."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from workers.conf import sas
from workers.definitions.effects import Effect
from workers.rules import evidence
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.runtime.failpoints import durable
from workers.store.db import dialect
from workers.store.locked import load

REASON = "the worker was stopped"


@load.again_when_lost
def release_unfinished(
    mark: str, worker: str, *, local: Collection[str] = (), now: datetime | None = None
) -> int:
    """Release one batch of a stopped worker's unfinished claims; count no failure.

    The worker's claims are those whose ``locked_by`` ends with ``mark``; its processes must
    have ended.  A call that was cut off stays in doubt, except that of an agent in ``local``: its
    transaction can no longer commit, so it had no effect.  Leaves alone unsafe calls, steps with a
    filed reply, steps that wait for a callback, claims past their deadline, which had all their
    time, and unstarted claims, whose message another worker gets.  Returns how many it released, at
    most ``SAS_SWEEP_BATCH``.
    """
    with durable("release.release_unfinished"):
        at = dialect.read_clock(now)
        rows = dialect.fetch(
            "SELECT s.id, s.process_id FROM workers_live l JOIN workers_step s ON s.id = l.step_id"
            " WHERE l.state = 'processing' AND NOT l.is_deferred AND s.state = 'processing'"
            " AND s.complete_by > %s AND s.reply IS NULL AND s.deferral IS NULL"
            f" AND s.locked_by LIKE %s AND (s.effect <> %s OR {dialect.among('s.agent')})"
            " ORDER BY s.process_id, s.id LIMIT %s",
            [
                dialect.instant_text(at),
                f"%{mark}",
                Effect.UNSAFE.value,
                dialect.id_list(sorted(local)),
                int(sas.sweep_batch),
            ],
        )
        processes = load.lock((process_id for _, process_id in rows), now)
        step_ids = {step_id for step_id, _ in rows}
        unfinished = [
            (locked, step)
            for locked in processes
            for step in locked.steps
            if step.id in step_ids and _is_unfinished(step, mark, at)
        ]
        for locked, step in unfinished:
            _release(locked, step, worker, is_uncalled=step.agent in local)
        # If a local agent files its reply after all, this write finds the step changed and fails.
        load.write(processes)
    return len(unfinished)


@load.again_when_lost
def unbegun(
    delivery: UUID, called: Collection[int], worker: str, now: datetime | None = None
) -> int:
    """Release the claims that a process started without calling their agents.

    Their start was written but its answer was lost.  ``delivery`` is that of the start; ``called``
    are its steps whose agents were called.  Counts no failure, and leaves no new doubt.  Returns
    how many it released.
    """
    with durable("release.unbegun"):
        rows = dialect.fetch(
            "SELECT s.id, s.process_id FROM workers_live l"
            f" JOIN workers_step s ON {dialect.looked_up('s.id', 'l.step_id')}"
            " WHERE l.state = 'processing' AND NOT l.is_deferred AND s.delivery = %s",
            [delivery if dialect.is_postgres() else delivery.hex],
        )
        step_ids = {step_id for step_id, _ in rows} - set(called)
        processes = load.lock((owner for step_id, owner in rows if step_id in step_ids), now)
        unfinished = [
            (locked, step)
            for locked in processes
            for step in locked.steps
            if step.id in step_ids and step.is_at_work and step.delivery == delivery
        ]
        for locked, step in unfinished:
            _release(locked, step, worker, is_uncalled=True)
        load.write(processes)
    return len(unfinished)


def _is_unfinished(step: StepRow, mark: str, at: datetime) -> bool:
    return (
        step.is_at_work
        and step.complete_by is not None
        and step.complete_by > at
        and not step.is_filed
        and (step.locked_by or "").endswith(mark)
    )


def _release(locked: LockedProcess, step: StepRow, worker: str, *, is_uncalled: bool) -> None:
    locked.touch(step)
    if is_uncalled:
        evidence.had_none(step)
    else:
        evidence.ended_silent(step)
    step.not_before = locked.now
    if not locked.release(step, "handed_back", worker, reason=REASON):
        locked.touch_process()
        locked.process.needs_decision = True
