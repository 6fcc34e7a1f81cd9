"""Jobs: one verb on a frozen set of processes, in chunks that are each one transaction.

The job's row is the lock of its items: working, pausing, resuming and stopping a job lock it first,
so that two workers of one job take turns and no item is acted on twice.  A process is changed in
the same transaction as its item: a worker that dies has done both or neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F

from workers.desk.models import BulkItem, BulkJob
from workers.desk.rules.job_verbs import (
    STEERING,
    VERBS,
    allowance,
    pauses,
    within_sample,
)
from workers.desk.states import JOBS, ItemState, JobState
from workers.exceptions import StateError
from workers.rules.rate_limit import Bucket
from workers.rules.refusals import refused
from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import journal, leases
from workers.store.db import dialect
from workers.store.locked import load
from workers.store.operate import two_persons
from workers.store.settle.carry_on import carry_on

#: Items written in one transaction while a set is frozen.
FROZEN_AT_ONCE = 1000
#: Act on a job -> event of the journal.
EVENTS = {"pause": "job_paused", "resume": "job_resumed", "stop": "job_stopped"}


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """The result of one chunk."""

    landed: int = 0
    refused: int = 0
    #: Nothing is left to do: the job is done, paused or stopped, or there is no such job.
    is_over: bool = False
    #: Seconds until the job's rate allows the next chunk.
    wait_seconds: float = 0.0


def create(
    verb: str,
    seen: Mapping[int, int],
    *,
    actor: str,
    reason: str,
    source: Mapping[str, Any],
    params: Mapping[str, Any] | None = None,
    rate_per_second: float | None = None,
    sample: int = 0,
    now: datetime | None = None,
) -> int:
    """Freeze a set of processes and have its job run; return the job's number.

    With a ``sample`` the job pauses by itself once it has changed that many.

    ``seen`` is the sequence of each process as it was shown, by its id.  A job whose set is cut off
    while it is written stays *planned*, and none of its items is ever acted on.
    """
    if verb not in VERBS:
        raise StateError(f"A job's verb must be one of {', '.join(VERBS)}, got {verb!r}.")
    storable_text.check_all(actor=actor, reason=reason)
    with durable("jobs.plan"):
        job = BulkJob.objects.create(
            verb=verb,
            actor=actor[:200],
            reason=reason,
            source=dict(source),
            params=dict(params or {}),
            rate_per_second=rate_per_second,
            sample=sample,
            created_at=dialect.read_clock(now),
        )
    pairs = sorted(seen.items())
    for begin in range(0, len(pairs), FROZEN_AT_ONCE):
        with durable("jobs.freeze"):
            BulkItem.objects.bulk_create(
                BulkItem(job=job, process_id=process_id, sequence=sequence)
                for process_id, sequence in pairs[begin : begin + FROZEN_AT_ONCE]
            )
    with durable("jobs.begin"):
        at = dialect.read_clock(now)
        planned = BulkJob.objects.filter(pk=job.pk, state=JobState.PLANNED)
        # No row matches if the job was stopped meanwhile.
        if planned.update(state=JobState.RUNNING, total=len(pairs), begun_at=at):
            detail = {"job": job.pk, "verb": verb, "processes": len(pairs), "reason": reason}
            journal.write([_entry("job_started", actor, detail)], at)
    return int(job.pk)


def steer(
    job_id: int, act: str, *, actor: str, reason: str = "", now: datetime | None = None
) -> None:
    """Pause, resume or stop a job, between two of its chunks.

    Raises ``StateError``, and changes nothing, if its state forbids that or there is no such job.
    """
    before, after = STEERING[act]
    storable_text.check_all(actor=actor, reason=reason)
    with durable("jobs.steer"):
        at = dialect.read_clock(now)
        changes: dict[str, Any] = {"state": after, "steered_by": actor[:200]}
        if after == JobState.STOPPED:
            changes["ended_at"] = at
        if not BulkJob.objects.filter(pk=job_id, state__in=before).update(**changes):
            state = BulkJob.objects.filter(pk=job_id).values_list("state", flat=True).first()
            if state is None:
                raise refused("no_job", job=job_id)
            raise refused("job_forbids", job=job_id, state=state, act=act)
        detail = {"job": job_id, **({"reason": reason} if reason else {})}
        journal.write([_entry(EVENTS[act], actor, detail)], at)


@load.again_when_lost
def work(job_id: int, most: int, now: datetime | None = None) -> ChunkResult:
    """Act on the next items of a running job, as many as its rate allows.

    Items whose process has moved, is gone, forbids the verb or takes two persons to undo are
    refused, with the reason.
    """
    with durable("jobs.work"):
        job = _lock(job_id)
        if job is None:
            return ChunkResult(is_over=True)
        at = dialect.read_clock(now)
        bucket = _bucket(job, at)
        count = within_sample(job.sample, job.landed, allowance(bucket, most))
        if bucket is not None and not count:
            return ChunkResult(wait_seconds=bucket.seconds_to_next())
        items = _waiting(job, count)
        refusals = _act(job, items, now) if items else 0
        _note(job, len(items), refusals, bucket, at)
        return ChunkResult(len(items) - refusals, refusals, job.state != JobState.RUNNING)


def refuse_next(job_id: int, error: str, now: datetime | None = None) -> ChunkResult:
    """Refuse the next item of a running job, on which the verb has failed; say why."""
    with durable("jobs.refuse_next"):
        job = _lock(job_id)
        if job is None:
            return ChunkResult(is_over=True)
        items = _waiting(job, 1)
        for item in items:
            _refuse(item, refused("job_failed", error=error))
            item.save(update_fields=["state", "refusal"])
        _note(job, len(items), len(items), None, dialect.read_clock(now))
        return ChunkResult(0, len(items), job.state != JobState.RUNNING)


def running() -> list[int]:
    """Return the running jobs whose verb this code has, the oldest first."""
    jobs = BulkJob.objects.filter(state=JobState.RUNNING, verb__in=list(VERBS))
    return list(jobs.order_by("pk").values_list("pk", flat=True))


def needs_runner(seconds: float, now: datetime | None = None) -> bool:
    """Say whether a job runs and no job was worked for ``seconds``."""
    if not running():
        return False
    since = leases.seconds_since(JOBS, now)
    return since is None or not 0 <= since < seconds


def _lock(job_id: int) -> BulkJob | None:
    locked = BulkJob.objects.select_for_update(no_key=True)
    return locked.filter(pk=job_id, state=JobState.RUNNING).first()


def _bucket(job: BulkJob, at: datetime) -> Bucket | None:
    if job.rate_per_second is None:
        return None
    return Bucket(job.rate_per_second, job.tokens, job.refilled_at).refilled(at)


def _waiting(job: BulkJob, most: int) -> list[BulkItem]:
    items = BulkItem.objects.filter(job=job, state=ItemState.WAITING)
    return list(items.order_by("process_id")[:most])


def _act(job: BulkJob, items: Sequence[BulkItem], now: datetime | None) -> int:
    """Carry out the verb on the processes of some items; return how many were refused."""
    ids = [item.process_id for item in items]
    worth = two_persons.worth(ids, job.actor)
    processes = {locked.process.id: locked for locked in load.lock(ids, now)}
    accepted = []
    for item in items:
        locked = processes.get(item.process_id)
        try:
            if locked is None:
                raise refused("no_process", process=item.process_id)
            if locked.process.sequence != item.sequence:
                raise refused("moved", subject=locked.process.subject)
            moves = VERBS[job.verb](locked, job.actor, job.reason, job.params)
            two_persons.refuse_alone(locked, moves, job.actor, worth)
        except StateError as refusal:
            _refuse(item, refusal)
        else:
            item.state = ItemState.LANDED
            accepted.append(locked)
    carry_on(accepted, job.actor, now)
    landed = [item.pk for item in items if item.state == ItemState.LANDED]
    refusals = [item for item in items if item.state == ItemState.REFUSED]
    BulkItem.objects.filter(pk__in=landed).update(state=ItemState.LANDED)
    if refusals:
        BulkItem.objects.bulk_update(refusals, ["state", "refusal"])
    return len(refusals)


def _refuse(item: BulkItem, refusal: StateError) -> None:
    item.state = ItemState.REFUSED
    item.refusal = {"code": refusal.code, "params": refusal.params}


def _note(job: BulkJob, done: int, refusals: int, bucket: Bucket | None, at: datetime) -> None:
    """Count what was done; end a job of which nothing is left."""
    changes: dict[str, Any] = {"done": F("done") + done, "refused": F("refused") + refusals}
    if bucket is not None:
        spent = bucket.spent(done)
        changes |= {"tokens": spent.tokens, "refilled_at": spent.at}
    # Fewer than its total where processes were deleted meanwhile.
    if job.done + done >= job.total or not done:
        job.state = JobState.DONE
        changes |= {"state": JobState.DONE, "ended_at": at}
    elif pauses(job.sample, job.landed, job.landed + done - refusals):
        job.state = JobState.PAUSED
        # No actor: the job waits for somebody to check the results of its sample.
        changes |= {"state": JobState.PAUSED, "steered_by": ""}
        detail = {"job": job.pk, "sample": job.sample}
        journal.write([_entry(EVENTS["pause"], job.actor, detail)], at)
    BulkJob.objects.filter(pk=job.pk).update(**changes)


def _entry(event: str, actor: str, detail: dict[str, Any]) -> Entry:
    return Entry(process_id=None, event=event, actor=actor, detail=detail)
