"""Making the rows of new processes, inside the caller's transaction."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from uuid_utils.compat import uuid7

from workers.conf import sas
from workers.definitions.effects import Effect
from workers.definitions.workflow import StepSpec, Workflow
from workers.models import Process
from workers.rules.rows import Entry, NewProcess
from workers.states import ProcessState, StepState
from workers.store import journal, sinks
from workers.store.db import dialect, prepared_plans, transactions
from workers.store.locked import load
from workers.store.settle.carry_on import carry_on
from workers.store.submit import insert_rows

#: Processes of one lane that are counted; more of them stand in the same place.
LONGEST_LANE = 10_000


def submit(
    workflow: Workflow, wanted: Sequence[NewProcess], *, actor: str, now: datetime | None = None
) -> list[Process]:
    """Write processes, all their steps, their first journal rows, and who is told of them.

    Everything a step needs to run is copied from its spec here.  Must run inside the
    transaction that makes what the processes are about, so that both exist or neither.
    """
    if not wanted:
        return []
    at = dialect.read_clock(now)
    made = [
        _process(workflow, one, turn, at)
        for one, turn in zip(wanted, _turns(wanted, at), strict=True)
    ]
    with prepared_plans.prepared():
        insert_rows.processes(made)
    is_judged = any(_waits_for_judgement(spec) for spec in workflow.steps)
    is_last = not is_judged and not any(one.told for one in wanted)
    with prepared_plans.prepared(), transactions.writes(is_last=is_last):
        insert_rows.steps(made, [_step(n, spec, at) for n, spec in enumerate(workflow.steps)])
        journal.write([_submitted(process, actor) for process in made], at)
    sinks.make(
        [
            (process.pk, sink)
            for process, one in zip(made, wanted, strict=True)
            for sink in one.told
        ],
        at,
    )
    if is_judged:
        ids = [process.pk for process in made]
        carry_on(load.lock(ids, at), actor, at, claim=False)
    return made


def _process(workflow: Workflow, one: NewProcess, turn: datetime, at: datetime) -> Process:
    deadline_at = one.deadline_at
    if deadline_at is None and workflow.deadline_seconds is not None:
        deadline_at = at + timedelta(seconds=workflow.deadline_seconds)
    return Process(
        # In the order of time: what is under way shares pages of the index.
        uid=uuid7(),
        workflow=workflow.name,
        version=workflow.version,
        subject=one.subject,
        input=one.input,
        no_return=list(workflow.no_return),
        sequence=1,
        lane=one.lane[:200],
        turn=turn,
        deadline_at=deadline_at,
        on_deadline=workflow.on_deadline,
        editable=list(workflow.editable),
        has_on_end=workflow.on_end is not None,
        created_at=at,
    )


def _submitted(process: Process, actor: str) -> Entry:
    return Entry(
        process_id=process.pk,
        event="submitted",
        actor=actor,
        after=ProcessState.PENDING,
        sequence=1,
    )


def _turns(wanted: Sequence[NewProcess], at: datetime) -> list[datetime]:
    """Return the processes' places in every queue.

    A process's place is the instant of its submission, and a little later for each process of
    the same lane that is still open: the ten-thousandth of one lane comes after the first of
    another, those of one lane keep their order, and no lane waits forever.  The idea is that of
    start-time fair queueing (Goyal, Vin and Cheng, 1996), with the hour as the virtual clock.
    """
    lanes = {lane: _lane(lane) for lane in {one.lane[:200] for one in wanted} if lane}
    turns = []
    for one in wanted:
        place, lane = at, one.lane[:200]
        head_start = timedelta(seconds=one.priority * sas.priority_seconds)
        if lane:
            count, last = lanes[lane]
            place = at + timedelta(seconds=count * sas.fair_seconds)
            place = max(place, last or place)
            lanes[lane] = min(count + 1, LONGEST_LANE), max(place - head_start, last or at)
        turns.append(place - head_start)
    return turns


def _lane(lane: str) -> tuple[int, datetime | None]:
    """Return how many processes of a lane are open, and the last one's place."""
    count, last = dialect.fetch(
        "SELECT count(*), max(turn) FROM (SELECT turn FROM workers_process WHERE lane = %s"
        " AND lane <> '' AND state IN ('pending', 'processing')"
        " ORDER BY turn DESC LIMIT %s) AS open",
        [lane, LONGEST_LANE],
    )[0]
    return count, dialect.instant(last)


def _waits_for_judgement(spec: StepSpec) -> bool:
    return spec.is_judged and not spec.after


def _step(position: int, spec: StepSpec, at: datetime) -> dict[str, Any]:
    """Return what one step is in all of the processes."""
    waits = bool(spec.after) or _waits_for_judgement(spec)
    return {
        "name": spec.name,
        "position": position,
        "state": StepState.WAITING if waits else StepState.PENDING,
        "not_before": None if waits else at + timedelta(seconds=spec.delay_seconds),
        "after": list(spec.after),
        "agent": spec.agent,
        "fallbacks": [asdict(fallback) for fallback in spec.fallbacks],
        "undo": asdict(spec.undo) if spec.undo else None,
        "on_failure": spec.on_failure,
        "wait_seconds": spec.wait_seconds,
        "is_optional": spec.optional,
        "delay_seconds": spec.delay_seconds,
        "is_judged": spec.is_judged,
        "effect": spec.effect or Effect.IDEMPOTENT,
        "key_retention_seconds": spec.key_retention_seconds,
        "total_seconds": spec.total_seconds,
        "timeout_seconds": int(_either(spec.timeout_seconds, sas.step_timeout_seconds)),
        "failure_threshold": int(_either(spec.failure_threshold, sas.failure_threshold)),
        "backoff_base_seconds": _either(spec.backoff_base_seconds, sas.backoff_base_seconds),
        "backoff_cap_seconds": _either(spec.backoff_cap_seconds, sas.backoff_cap_seconds),
    }


def _either(own: float | None, default: float) -> float:
    return default if own is None else own
