"""Making the rows of a new process, inside the caller's transaction."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from workers.conf import sas
from workers.locked import Entry
from workers.models import Process, Step
from workers.states import ProcessState, StepState
from workers.store import journal, sql
from workers.workflow import StepSpec, Workflow


def submit(
    workflow: Workflow,
    subject: str,
    process_input: dict[str, Any],
    *,
    actor: str,
    now: datetime | None = None,
) -> Process:
    """Write a process, all its steps and its first journal row.

    Everything a step needs to run is copied from its spec here.  Must run inside the
    transaction that makes what the process is about, so that both exist or neither.
    """
    at = sql.read_clock(now)
    process = Process.objects.create(
        workflow=workflow.name,
        version=workflow.version,
        subject=subject,
        input=process_input,
        no_return=list(workflow.no_return),
        sequence=1,
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
    return process


def _step(process: Process, position: int, spec: StepSpec, at: datetime) -> Step:
    return Step(
        process=process,
        name=spec.name,
        position=position,
        state=StepState.WAITING if spec.after else StepState.PENDING,
        not_before=None if spec.after else at,
        after=list(spec.after),
        agent=spec.agent,
        fallbacks=[asdict(fallback) for fallback in spec.fallbacks],
        undo=asdict(spec.undo) if spec.undo else None,
        on_failure=spec.on_failure,
        wait_seconds=spec.wait_seconds,
        is_optional=spec.optional,
        timeout_seconds=_either(spec.timeout_seconds, sas.step_timeout_seconds),
        failure_threshold=_either(spec.failure_threshold, sas.failure_threshold),
        backoff_base_seconds=_either(spec.backoff_base_seconds, sas.backoff_base_seconds),
        backoff_cap_seconds=_either(spec.backoff_cap_seconds, sas.backoff_cap_seconds),
        # The last part is the generation: undoing the effect begins a new one.
        idempotency_key=f"{process.uid.hex}:{position}:1",
    )


def _either(own: float | None, default: float) -> float:
    return default if own is None else own
