"""Release the claims of a worker that was stopped in the middle of its calls; note its death."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from workers.conf import sas
from workers.definitions.effects import Effect
from workers.rules import dead_workers, evidence
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.runtime.failpoints import durable
from workers.store import isolation, specs
from workers.store.claims.claim_steps import Claim
from workers.store.db import dialect
from workers.store.locked import load, log_lines

REASON = "the worker was stopped"


def release_unfinished(
    mark: str, worker: str, *, local: Collection[str] = (), now: datetime | None = None
) -> int:
    """Release one batch of a stopped worker's unfinished claims; count no failure.

    The worker's claims are those whose ``locked_by`` ends with ``mark``; its processes must
    have ended.  A call that was cut off stays in doubt, except that of an agent in ``local``: its
    transaction can no longer commit, so it had no effect.  Leaves alone unsafe calls, steps with a
    filed reply, steps that wait for a callback, and claims past their deadline, which had all their
    time.  Returns how many it released, at most ``SAS_SWEEP_BATCH``.
    """
    at = dialect.read_clock(now)
    moment, params = dialect.clock(at)
    rows = dialect.fetch(
        "SELECT s.id, s.process_id FROM workers_live l JOIN workers_step s ON s.id = l.step_id"
        " WHERE l.state = 'processing' AND NOT l.is_deferred AND s.state = 'processing'"
        " AND s.complete_by > %s AND s.reply IS NULL AND s.deferral IS NULL"
        " AND s.locked_by LIKE %s"
        f" AND ({specs.value('effect')} <> %s OR {dialect.among('s.agent')})"
        f" AND NOT {isolation.is_at_rest('process', 'release', 's.process_id', moment)}"
        " ORDER BY s.process_id, s.id LIMIT %s",
        [
            dialect.instant_text(at),
            f"%{mark}",
            Effect.UNSAFE.value,
            dialect.id_list(sorted(local)),
            *params,
            int(sas.sweep_batch),
        ],
    )
    step_ids = {step_id for step_id, _ in rows}
    return _release_of(
        [process_id for _, process_id in rows],
        lambda: durable("release.release_unfinished"),
        lambda step: (
            step.id in step_ids
            and _is_unanswered(step, at)
            and (step.locked_by or "").endswith(mark)
        ),
        worker,
        local,
        now=now,
    )


def unbegun(
    delivery: UUID, called: Collection[int], worker: str, now: datetime | None = None
) -> int:
    """Release the claims that a process started without calling their agents.

    Their start was written but its answer was lost.  ``delivery`` is that of the start; ``called``
    are its steps whose agents were called.  Counts no failure, and leaves no new doubt.  Returns
    how many it released.
    """
    rows = dialect.fetch(
        "SELECT s.id, s.process_id FROM workers_live l"
        f" JOIN workers_step s ON {dialect.looked_up('s.id', 'l.step_id')}"
        " WHERE l.state = 'processing' AND NOT l.is_deferred AND s.delivery = %s",
        [delivery if dialect.is_postgres() else delivery.hex],
    )
    step_ids = {step_id for step_id, _ in rows} - set(called)
    return _release_of(
        [owner for step_id, owner in rows if step_id in step_ids],
        lambda: durable("release.unbegun"),
        lambda step: step.id in step_ids and step.is_at_work and step.delivery == delivery,
        worker,
        None,
        now=now,
    )


def _release_of(
    process_ids: Sequence[int],
    point: Callable[[], durable],
    is_unfinished: Callable[[StepRow], bool],
    worker: str,
    local: Collection[str] | None,
    *,
    now: datetime | None,
    reason: str = REASON,
    delay_seconds: float = 0,
) -> int:
    """Release the unfinished steps of processes; one with which that fails holds up no other.

    Those of the agents in ``local`` were not called, nor any with None.  Returns how many.
    """

    @load.again_when_lost
    def release(part: Sequence[int]) -> int:
        with point():
            processes = load.lock(part, now)
            unfinished = [
                (locked, step)
                for locked in processes
                for step in locked.steps
                if is_unfinished(step)
            ]
            for locked, step in unfinished:
                is_uncalled = local is None or step.agent in local
                not_before = locked.now + timedelta(seconds=delay_seconds)
                _release(locked, step, worker, reason, not_before, is_uncalled=is_uncalled)
            # If a local agent files its reply after all, this write finds the step changed.
            load.write(processes)
        return len(unfinished)

    return sum(
        isolation.apart(
            sorted(set(process_ids)), release, isolation.alerting("process", "release", now)
        )
    )


def uncalled(
    claims: Sequence[Claim],
    worker: str,
    reason: str,
    now: datetime | None = None,
    *,
    delay_seconds: float = 0,
) -> int:
    """Release claims that this process cannot call; count no failure; return how many.

    They may be claimed again after the delay.
    """
    ids = {claim.step_id: claim.claim_id for claim in claims}
    return _release_of(
        [claim.process_id for claim in claims],
        lambda: durable("release.uncalled"),
        lambda step: step.is_at_work and step.claim_id == ids.get(step.id),
        worker,
        None,
        now=now,
        reason=reason,
        delay_seconds=delay_seconds,
    )


def _release(
    locked: LockedProcess,
    step: StepRow,
    worker: str,
    reason: str,
    not_before: datetime,
    *,
    is_uncalled: bool,
) -> None:
    locked.touch(step)
    if is_uncalled:
        evidence.had_none(step)
    else:
        evidence.ended_silent(step)
    step.not_before = not_before
    if not locked.release(step, "handed_back", worker, reason=reason):
        locked.touch_process()
        locked.process.needs_decision = True


def note_death(
    mark: str, is_gone: Callable[[str], bool], cause: str, now: datetime | None = None
) -> list[dict[str, Any]]:
    """Record a fault on the steps that a worker's dead processes ran; return these steps' facts.

    ``mark`` is the suffix of the names of the worker's processes; ``is_gone`` says by such a name
    whether the process has died.  Only for started claims that hold, are before their deadline and
    have no reply: an answered claim needs no fault.  Counts and moves nothing.
    """
    rows = dialect.fetch(
        "SELECT s.process_id, s.locked_by FROM workers_live l"
        f" JOIN workers_step s ON {dialect.looked_up('s.id', 'l.step_id')}"
        " WHERE l.state = 'processing' AND NOT l.is_deferred AND s.locked_by LIKE %s",
        [f"%{mark}"],
    )
    dead_names = {name for name in {name for _, name in rows} if is_gone(name)}
    parts = isolation.apart(
        sorted({owner for owner, name in rows if name in dead_names}),
        lambda process_ids: _note_death(process_ids, dead_names, cause, now),
        isolation.alerting("process", "note", now),
    )
    return [fact for facts in parts for fact in facts]


@load.again_when_lost
def _note_death(
    process_ids: Sequence[int], dead_names: Collection[str], cause: str, now: datetime | None
) -> list[dict[str, Any]]:
    with durable("release.note_death"):
        processes = load.lock(process_ids, now)
        facts = []
        for locked in processes:
            for step in locked.steps:
                if step.locked_by in dead_names and _is_unanswered(step, locked.now):
                    locked.touch(step)
                    step.fault = dead_workers.fault_of(step, cause).noted(locked.now)
                    facts.append(_facts(locked, step))
        load.write(processes)
    return facts


def _facts(locked: LockedProcess, step: StepRow) -> dict[str, Any]:
    return {
        **log_lines.about(locked),
        "agent": step.agent,
        "step": step.name,
        "attempt": step.attempt,
        "claim_id": str(step.claim_id),
    }


def _is_unanswered(step: StepRow, now: datetime) -> bool:
    return (
        step.is_at_work
        and step.complete_by is not None
        and step.complete_by > now
        and not step.is_filed
    )
