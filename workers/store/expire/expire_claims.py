"""Expire steps: started, past their deadline, and without a reply."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.conf import sas
from workers.protocol.faults import FaultRecord
from workers.rules import dead_workers, overdue_answers
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.runtime.failpoints import around
from workers.runtime.gc_control import collected_later
from workers.states import StepState
from workers.store import isolation, specs
from workers.store.db import dialect, prepared_plans
from workers.store.db.transactions import durable
from workers.store.locked import load

#: The fault of a step without a reply, for its row and the journal.
EXPIRED = FaultRecord("expired", "expired", "no reply by complete-by")
#: SQL for a process whose deadline decides something.
_UNDECIDED = (
    "NOT needs_decision AND state IN ('error', 'pending', 'processing') AND outcome IS NULL"
)
#: A deadline at least this many seconds later than first set has been extended.
LEAST_EXTENSION = 1


@dataclass(frozen=True, slots=True)
class ExpiryResult:
    reset: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class SweepLook:
    """What a sweep has to look at; the code that does it reads it again."""

    #: Claims that are past their start or their end.
    has_claims: bool
    #: Processes past their deadline, and steps whose wait has to be told of.
    has_dates: bool


def look(now: datetime | None = None) -> SweepLook:
    """Return what a sweep has to look at, in one statement: mostly there is nothing."""
    moment, params = dialect.clock(now)
    claims, deadlines, waits = dialect.fetch(
        "SELECT (SELECT l.step_id FROM workers_live l WHERE l.look_at < c.at"
        " ORDER BY l.look_at LIMIT 1) IS NOT NULL,"
        f" (SELECT id FROM workers_process WHERE deadline_at <= c.at AND {_UNDECIDED}"
        " ORDER BY deadline_at LIMIT 1) IS NOT NULL,"
        " (SELECT s.id FROM workers_step s WHERE s.escalate_at <= c.at"
        f" ORDER BY s.escalate_at LIMIT 1) IS NOT NULL FROM (SELECT {moment} AS at) c",
        params,
    )[0]
    return SweepLook(bool(claims), bool(deadlines or waits))


@prepared_plans.kept()
def expire(worker: str, now: datetime | None = None) -> ExpiryResult:
    """Expire one batch of steps: pending again below the threshold, else in error.

    The Scheduler decides what a step's error means for its process, which is flagged for that.
    Leaves alone a step that was settled, filed or expired meanwhile, so any number of supervisors
    may run this at once.
    """
    parts = isolation.apart(
        _find(now),
        lambda step_ids: _decide(step_ids, worker, now),
        isolation.alerting("step", "expire", now),
    )
    return ExpiryResult(sum(part.reset for part in parts), sum(part.errors for part in parts))


def _find(now: datetime | None) -> list[int]:
    """Return a batch of expired steps, the longest expired first."""
    at = dialect.read_clock(now)
    moment, params = dialect.clock(at)
    latest = dialect.instant_text(at - _grace())
    rows = dialect.fetch(
        "SELECT s.id FROM workers_live l JOIN workers_step s"
        f" ON {dialect.looked_up('s.id', 'l.step_id')} WHERE l.look_at < %s"
        " AND s.state = 'processing' AND s.complete_by < %s AND s.reply IS NULL"
        f" AND NOT {isolation.is_at_rest('step', 'expire', 's.id', moment)}"
        " ORDER BY l.look_at LIMIT %s",
        [latest, latest, *params, int(sas.sweep_batch)],
    )
    return [step_id for (step_id,) in rows]


def _grace() -> timedelta:
    """Return how long past its deadline a claim counts as expired."""
    return timedelta(seconds=sas.expiry_grace_seconds)


@collected_later
@load.again_when_lost
def _decide(step_ids: Sequence[int], worker: str, now: datetime | None) -> ExpiryResult:
    """Reset expired steps, or end them in error, one by one."""
    grace = _grace()
    ends: Counter[bool] = Counter()

    def decide(locked: LockedProcess) -> None:
        for step in locked.steps:
            if is_expired(step, locked.now - grace):
                ends[_expire(locked, step, worker)] += 1

    with durable("expire_claims.expire"):
        # A step expires whatever the state of its siblings; the Scheduler decides about those.  The
        # next sweep expires steps of processes that another session holds now.
        processes = load.lock_only(step_ids, now, skip_locked=True)
        # A reply filed after the steps were read saves its step: filing takes no process lock.
        load.decide_and_write(processes, decide)
    return ExpiryResult(reset=ends[False], errors=ends[True])


def _expire(locked: LockedProcess, step: StepRow, worker: str) -> bool:
    """Expire a step; say whether it ended in error."""
    is_error = _fail(locked, step, worker)
    if step.state != StepState.PENDING:
        locked.touch_process()
        locked.process.needs_decision = True
    return is_error


def _fail(locked: LockedProcess, step: StepRow, worker: str) -> bool:
    if step.deferral is None:
        return locked.fail(step, "expired", worker, dead_workers.of_claim(step) or EXPIRED)
    is_last = bool(step.deferral.get("is_asked_once"))
    return locked.fail(step, "expired", worker, overdue_answers.unanswered(step), is_last=is_last)


@around("expire_claims.extend_gap")
def extend_gap(gap_seconds: float, extension_seconds: float, now: datetime | None = None) -> int:
    """Extend the deadlines that passed while no sweep could run; return how many.

    After an outage of the database, agent processes may still have replies to these claims: they
    get time to be settled before anything counts as a failure.  A deadline is extended only once,
    however late the next sweeps are, and by at least ``LEAST_EXTENSION`` seconds, by which extended
    ones are recognized.
    """
    at = dialect.read_clock(now)
    timeout = specs.value("timeout_seconds")
    as_it_was_set = dialect.later("s.started_at", f"({timeout} + {LEAST_EXTENSION})")
    step_ids = (
        "SELECT s.id FROM workers_live l JOIN workers_step s ON s.id = l.step_id"
        " WHERE l.look_at < %s"
        " AND s.state = 'processing' AND s.complete_by < %s"
        f" AND s.complete_by > %s AND s.complete_by < {as_it_was_set} AND s.reply IS NULL"
        " AND s.deferral IS NULL ORDER BY s.id " + dialect.lock_rows("s")
    )
    return dialect.execute(
        f"UPDATE workers_step SET complete_by = %s WHERE id IN ({step_ids})",
        [
            dialect.instant_text(at + timedelta(seconds=max(extension_seconds, LEAST_EXTENSION))),
            *[dialect.instant_text(at)] * 2,
            dialect.instant_text(at - timedelta(seconds=gap_seconds)),
        ],
    )


@around("expire_claims.flag_overdue")
def flag_overdue(now: datetime | None = None) -> int:
    """Flag processes whose deadline has passed for the Scheduler's decision; return how many."""
    at = dialect.instant_text(dialect.read_clock(now))
    process_ids = (
        f"SELECT id FROM workers_process WHERE deadline_at <= %s AND {_UNDECIDED}"
        " ORDER BY id LIMIT %s " + dialect.lock_rows("workers_process", skip_locked=True)
    )
    return dialect.execute(
        f"UPDATE workers_process SET needs_decision = %s WHERE id IN ({process_ids})",
        [True, at, int(sas.sweep_batch)],
    )


def escalate(worker: str, now: datetime | None = None) -> int:
    """Alert operators to steps that have waited long for an answer; return how many."""
    at = dialect.read_clock(now)
    moment, params = dialect.clock(at)
    rows = dialect.fetch(
        "SELECT s.id FROM workers_step s WHERE s.escalate_at <= %s"
        f" AND NOT {isolation.is_at_rest('step', 'escalate', 's.id', moment)}"
        " ORDER BY s.escalate_at LIMIT %s",
        [dialect.instant_text(at), *params, int(sas.sweep_batch)],
    )
    counts = isolation.apart(
        [step_id for (step_id,) in rows],
        lambda step_ids: _escalate(step_ids, worker, at, now),
        isolation.alerting("step", "escalate", now),
    )
    return sum(counts)


@load.again_when_lost
def _escalate(step_ids: Sequence[int], worker: str, at: datetime, now: datetime | None) -> int:
    with durable("expire_claims.escalate"):
        processes = load.lock_only(step_ids, now, skip_locked=True)
        overdue = [
            (locked, step)
            for locked in processes
            for step in locked.steps
            if step.escalate_at is not None and step.escalate_at <= at
        ]
        for locked, step in overdue:
            overdue_answers.escalate(locked, step, worker)
        load.write(processes)
    return len(overdue)


def is_expired(step: StepRow, due: datetime) -> bool:
    """Say whether a step without a reply has a deadline before ``due``."""
    return (
        step.state == StepState.PROCESSING
        and step.complete_by is not None
        and step.complete_by < due
        and not step.is_filed
    )
