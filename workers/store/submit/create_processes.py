"""Create the rows of new processes, inside the caller's transaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from workers.conf import sas
from workers.definitions.effects import Effect
from workers.definitions.workflow import StepSpec, Workflow
from workers.models import Process
from workers.rules import attributes, compensation, limit_keys
from workers.rules import submission_keys as keys
from workers.rules.rows import Entry, NewProcess
from workers.rules.transitions import LockedProcess
from workers.specs import SpecRow
from workers.states import ProcessState, StepState
from workers.store import journal, sinks, specs
from workers.store.db import dialect, prepared_plans, transactions
from workers.store.locked import load
from workers.store.settle.carry_on import carry_on
from workers.store.submit import insert_rows, submission_keys

#: The most processes of one lane to count; beyond it, all get the same turn.
LONGEST_LANE = 10_000


def submit(
    workflow: Workflow, requests: Sequence[NewProcess], *, actor: str, now: datetime | None = None
) -> tuple[list[Process], Process | None]:
    """Insert processes with all their steps, first journal rows, and sinks.

    A step has all it needs to run on its row and its spec.  Must run inside the transaction that
    creates the subjects of the processes, so that both exist or neither.

    Returns the process of each request, and one whose key a request refuses to share: then other
    processes have no steps, and the caller must roll them back.
    """
    if not requests:
        return [], None
    at = dialect.read_clock(now)
    submitted, new, replaced = _insert(workflow, requests, at)
    for i, request in enumerate(requests):
        if i not in new and request.on_conflict == "refuse":
            return submitted, submitted[i]
    processes = list(new.values())
    if not processes:
        return submitted, None
    told = [(process.pk, sink) for i, process in new.items() for sink in requests[i].told]
    is_judged = begins_judged(workflow)
    is_last = not (is_judged or told or replaced)
    with prepared_plans.prepared(), transactions.writes(is_last=is_last):
        specs.keep(shared(workflow))
        insert_rows.steps(processes, steps(workflow, at), _limit_keys(workflow, processes))
        insert_rows.attributes(
            [
                {"process_id": process.pk, "name": name, "value": text}
                for i, process in new.items()
                for name, text in attributes.texts(workflow, requests[i]).items()
            ]
        )
        journal.write([_submitted(process, actor) for process in processes], at)
    sinks.make(told, at)
    if is_judged:
        carry_on(load.lock([process.pk for process in processes], at), actor, at)
    for process in processes:
        if locked := replaced.get(process.submission_key):
            reason = f"replaced by process {process.pk}"
            compensation.begin(locked, ProcessState.CANCELLED, actor, reason)
    carry_on(list(replaced.values()), actor, at)
    return submitted, None


def _insert(
    workflow: Workflow, requests: Sequence[NewProcess], at: datetime
) -> tuple[list[Process], dict[int, Process], dict[str | None, LockedProcess]]:
    """Insert the rows of processes whose keys are free, or whose key's process may be replaced.

    Returns the process of each request; the new ones by the request's index; and those to replace,
    locked, by key.
    """
    place, holders = submission_keys.last(workflow.name, requests)
    turns = _turns(requests, at)
    first: dict[int, Process] = {}
    new: dict[int, Process] = {}
    replaced: dict[str | None, LockedProcess] = {}
    left = dict(enumerate(requests))
    while left:
        replaced |= _replaceable(left.values(), holders, at)
        tried: dict[int, Process] = {}
        for i, request in left.items():
            holder = holders.get(request.submission_key)
            is_taken = holder is not None and keys.is_taken(holder.state, holder.key_until, at)
            if holder is not None and is_taken and request.submission_key not in replaced:
                first[i] = holder
            else:
                tried[i] = _process(workflow, request, turns[i], at, place=place, last=holder)
        with prepared_plans.prepared():
            insert_rows.processes(list(tried.values()))
        new |= {i: process for i, process in tried.items() if process.pk is not None}
        # Another submission has inserted the same use of the key, and committed.
        winners = submission_keys.winners([row for row in tried.values() if row.pk is None])
        holders |= winners
        replaced = {key: locked for key, locked in replaced.items() if key not in winners}
        left = {i: requests[i] for i in tried if i not in new}
    rows = first | new
    return [rows[i] for i in range(len(requests))], new, replaced


def _replaceable(
    requests: Iterable[NewProcess], holders: Mapping[str | None, Process], at: datetime
) -> dict[str | None, LockedProcess]:
    """Lock the processes that requests replace if nothing of them has begun; return those, by key.

    Claims lock the process, too: one that came first is seen here, and none comes after.
    """
    by_id = {
        holder.pk: holder
        for request in requests
        if request.on_conflict == "replace"
        and (holder := holders.get(request.submission_key)) is not None
        and holder.state == ProcessState.PENDING
        and keys.is_taken(holder.state, holder.key_until, at)
    }
    replaceable: dict[str | None, LockedProcess] = {}
    for locked in load.lock(by_id, at):
        holder = by_id[locked.process.id]
        holder.state, holder.finished_at = locked.process.state, locked.process.finished_at
        if not keys.has_begun(locked):
            replaceable[holder.submission_key] = locked
    return replaceable


def begins_judged(workflow: Workflow) -> bool:
    """Say whether a condition decides if a first step is done."""
    return any(_waits_for_judgement(spec) for spec in workflow.steps)


def steps(workflow: Workflow, at: datetime) -> list[dict[str, Any]]:
    """Return the columns of the steps that are the same in all new processes of a workflow."""
    rows = zip(workflow.steps, shared(workflow), strict=True)
    return [_step(position, spec, row, at) for position, (spec, row) in enumerate(rows)]


def _process(
    workflow: Workflow,
    request: NewProcess,
    turn: datetime,
    at: datetime,
    *,
    place: UUID | None,
    last: Process | None,
) -> Process:
    """Return a process; ``last`` is the one of the last use of its key, ``place`` whose keys."""
    key = request.submission_key
    use = ((last and last.key_use) or 0) + 1
    deadline_at = request.deadline_at
    if deadline_at is None and workflow.deadline_seconds is not None:
        deadline_at = at + timedelta(seconds=workflow.deadline_seconds)
    asked = attributes.asked_for(workflow)
    values = attributes.texts(workflow, request) if asked else {}
    values = {name: text for name, text in values.items() if name in asked}
    return Process(
        uid=submission_keys.new_id(place, workflow.name, key, use),
        workflow=workflow.name,
        version=workflow.version,
        subject=request.subject,
        input=request.input,
        no_return=list(workflow.no_return),
        sequence=1,
        lane=request.lane[:200],
        turn=turn,
        deadline_at=deadline_at,
        on_deadline=workflow.on_deadline,
        editable=list(workflow.editable),
        has_on_end=workflow.on_end is not None,
        submission_key=key,
        key_use=None if key is None else use,
        key_until=keys.until(request.key_for, at),
        group_id=request.group_id,
        limit_values=values or None,
        exclusive=attributes.exclusive_key(workflow, values),
        created_at=at,
    )


def _limit_keys(workflow: Workflow, processes: Iterable[Process]) -> list[dict[str, Any]]:
    """Return the keys of the steps whose agents are limited by an attribute."""
    limited = [(i, spec) for i, spec in enumerate(workflow.steps) if spec.per_key is not None]
    return [
        {
            "id": process.pk,
            "position": position,
            "limit_key": limit_keys.of_agent(spec.agent, spec.per_key, process.limit_values),
        }
        for position, spec in limited
        for process in processes
    ]


def _submitted(process: Process, actor: str) -> Entry:
    return Entry(
        process_id=process.pk,
        event="submitted",
        actor=actor,
        after=ProcessState.PENDING,
        sequence=1,
    )


def _turns(requests: Sequence[NewProcess], at: datetime) -> list[datetime]:
    """Return the processes' turns: their positions in every queue.

    A turn is the instant of submission, plus a little for each open process of the same lane: the
    ten-thousandth of one lane comes after the first of another, those of one lane keep their order,
    and no lane waits forever.  The idea is start-time fair queueing (Goyal, Vin and Cheng, 1996),
    with real time as the virtual clock.
    """
    lanes = {lane: _lane(lane) for lane in {request.lane[:200] for request in requests} if lane}
    turns = []
    for request in requests:
        turn, lane = at, request.lane[:200]
        head_start = timedelta(seconds=request.priority * sas.priority_seconds)
        if lane:
            count, last = lanes[lane]
            turn = at + timedelta(seconds=count * sas.fair_seconds)
            turn = max(turn, last or turn)
            lanes[lane] = min(count + 1, LONGEST_LANE), max(turn - head_start, last or at)
        turns.append(turn - head_start)
    return turns


def _lane(lane: str) -> tuple[int, datetime | None]:
    """Return how many processes of a lane are open, and the last one's turn."""
    count, last = dialect.fetch(
        "SELECT count(*), max(turn) FROM (SELECT turn FROM workers_process WHERE lane = %s"
        " AND lane <> '' AND state IN ('pending', 'processing')"
        " ORDER BY turn DESC LIMIT %s) AS open",
        [lane, LONGEST_LANE],
    )[0]
    return count, dialect.instant(last)


def _waits_for_judgement(spec: StepSpec) -> bool:
    return spec.is_judged and not spec.after


def _step(position: int, spec: StepSpec, row: SpecRow, at: datetime) -> dict[str, Any]:
    """Return the columns of one step that are the same in all of the processes."""
    waits = bool(spec.after) or _waits_for_judgement(spec)
    return {
        "name": spec.name,
        "position": position,
        "state": StepState.WAITING if waits else StepState.PENDING,
        "not_before": None if waits else at + timedelta(seconds=spec.delay_seconds),
        "agent": spec.agent,
        "spec_digest": row.digest,
        "failure_threshold": int(_either(spec.failure_threshold, sas.failure_threshold)),
    }


def shared(workflow: Workflow) -> tuple[SpecRow, ...]:
    """Return what the steps of a workflow share, with the defaults of the settings."""
    return _shared(
        workflow, sas.step_timeout_seconds, sas.backoff_base_seconds, sas.backoff_cap_seconds
    )


@lru_cache(maxsize=1000)
def _shared(
    workflow: Workflow, timeout: float, backoff_base: float, backoff_cap: float
) -> tuple[SpecRow, ...]:
    """Make them once, instead of with every submission."""
    return tuple(
        SpecRow(
            after=tuple(spec.after),
            fallbacks=tuple(asdict(fallback) for fallback in spec.fallbacks),
            undo=asdict(spec.undo) if spec.undo else None,
            is_optional=spec.optional,
            on_failure=str(spec.on_failure),
            wait_seconds=spec.wait_seconds,
            delay_seconds=spec.delay_seconds,
            is_judged=spec.is_judged,
            unless=spec.unless if isinstance(spec.unless, str) else "",
            children=spec.children.to_json() if spec.children else None,
            effect=str(spec.effect or Effect.IDEMPOTENT),
            key_retention_seconds=spec.key_retention_seconds,
            total_seconds=spec.total_seconds,
            timeout_seconds=int(_either(spec.timeout_seconds, timeout)),
            backoff_base_seconds=float(_either(spec.backoff_base_seconds, backoff_base)),
            backoff_cap_seconds=float(_either(spec.backoff_cap_seconds, backoff_cap)),
        )
        for spec in workflow.steps
    )


def _either(own: float | None, default: float) -> float:
    return default if own is None else own
