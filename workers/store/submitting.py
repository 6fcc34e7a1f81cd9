"""Making the rows of a new process, inside the caller's transaction."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from workers.conf import sas
from workers.effects import Effect
from workers.models import Process, Step
from workers.rows import Entry, NewSink
from workers.states import ProcessState, StepState
from workers.store import journal, rows, settling, sinks, sql
from workers.workflow import StepSpec, Workflow

#: Processes of one lane that are counted; more of them stand in the same place.
LONGEST_LANE = 10_000


def submit(
    workflow: Workflow,
    subject: str,
    process_input: dict[str, Any],
    *,
    actor: str,
    lane: str = "",
    priority: int = 0,
    deadline_at: datetime | None = None,
    told: Sequence[NewSink] = (),
    now: datetime | None = None,
) -> Process:
    """Write a process, all its steps, its first journal row, and who is told of it.

    Everything a step needs to run is copied from its spec here.  Must run inside the
    transaction that makes what the process is about, so that both exist or neither.
    """
    at = sql.read_clock(now)
    if deadline_at is None and workflow.deadline_seconds is not None:
        deadline_at = at + timedelta(seconds=workflow.deadline_seconds)
    process = Process.objects.create(
        workflow=workflow.name,
        version=workflow.version,
        subject=subject,
        input=process_input,
        no_return=list(workflow.no_return),
        sequence=1,
        lane=lane[:200],
        turn=_turn(lane[:200], priority, at),
        deadline_at=deadline_at,
        on_deadline=workflow.on_deadline,
        editable=list(workflow.editable),
        created_at=at,
    )
    Step.objects.bulk_create(
        [_step(process, position, spec, at) for position, spec in enumerate(workflow.steps)]
    )
    journal.write(
        [
            Entry(
                process_id=process.pk,
                event="submitted",
                actor=actor,
                after=ProcessState.PENDING,
                sequence=1,
            )
        ],
        at,
    )
    if told:
        sinks.make(process.pk, told, at)
    if any(_waits_for_judgement(spec) for spec in workflow.steps):
        settling.go_on(rows.lock([process.pk], at), actor, at, claim=False)
    return process


def _turn(lane: str, priority: int, at: datetime) -> datetime:
    """Return a process's place in every queue.

    The instant of its submission, and a little later for each process of the same lane that
    is still open: the ten-thousandth of one lane comes after the first of another, those of
    one lane keep their order, and no lane waits for ever.  The idea is that of start-time
    fair queueing (Goyal, Vin and Cheng, 1996), with the hour as the virtual clock.
    """
    place = at
    if lane:
        count, last = sql.fetch(
            "SELECT count(*), max(turn) FROM (SELECT turn FROM workers_process WHERE lane = %s"
            " AND lane <> '' AND state IN ('pending', 'processing')"
            " ORDER BY turn DESC LIMIT %s) AS open",
            [lane, LONGEST_LANE],
        )[0]
        place = at + timedelta(seconds=count * sas.fair_seconds)
        place = max(place, sql.instant(last) or place)
    return place - timedelta(seconds=priority * sas.priority_seconds)


def _waits_for_judgement(spec: StepSpec) -> bool:
    return spec.is_judged and not spec.after


def _step(process: Process, position: int, spec: StepSpec, at: datetime) -> Step:
    waits = bool(spec.after) or _waits_for_judgement(spec)
    return Step(
        process=process,
        name=spec.name,
        position=position,
        state=StepState.WAITING if waits else StepState.PENDING,
        not_before=None if waits else at + timedelta(seconds=spec.delay_seconds),
        turn=process.turn,
        after=list(spec.after),
        agent=spec.agent,
        fallbacks=[asdict(fallback) for fallback in spec.fallbacks],
        undo=asdict(spec.undo) if spec.undo else None,
        on_failure=spec.on_failure,
        wait_seconds=spec.wait_seconds,
        is_optional=spec.optional,
        delay_seconds=spec.delay_seconds,
        is_judged=spec.is_judged,
        effect=spec.effect or Effect.IDEMPOTENT,
        key_retention_seconds=spec.key_retention_seconds,
        total_seconds=spec.total_seconds,
        timeout_seconds=_either(spec.timeout_seconds, sas.step_timeout_seconds),
        failure_threshold=_either(spec.failure_threshold, sas.failure_threshold),
        backoff_base_seconds=_either(spec.backoff_base_seconds, sas.backoff_base_seconds),
        backoff_cap_seconds=_either(spec.backoff_cap_seconds, sas.backoff_cap_seconds),
        # The last part is the generation: undoing the effect begins a new one.
        idempotency_key=f"{process.uid.hex}:{position}:1",
    )


def _either(own: float | None, default: float) -> float:
    return default if own is None else own
