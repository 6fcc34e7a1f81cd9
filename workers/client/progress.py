"""Read a process: a snapshot for pages, programs and operators.  Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from workers.client import explaining
from workers.definitions import attributes, completing, registry
from workers.models import Process, Step
from workers.rules.compensation import is_passed
from workers.rules.refusals import refused
from workers.states import FINAL_PROCESS_STATES, SETTLED_STEP_STATES, StepState
from workers.store.attributes import of_processes
from workers.store.submit import create_processes


@dataclass(frozen=True, slots=True)
class StepProgress:
    name: str
    state: str
    agent: str
    attempt: int
    failure_count: int
    failure_threshold: int
    timeout_seconds: int
    started_at: datetime | None
    complete_by: datetime | None
    #: Seconds until complete-by; negative once it has passed; None while not started.
    remaining_seconds: float | None
    not_before: datetime | None
    #: Seconds until the step may be tried again; None unless it waits for that.
    retry_seconds: float | None
    locked_by: str | None
    #: Whether the step waits for an answer from outside, and no worker is busy with it.
    is_deferred: bool
    #: Whether it undoes another step.
    is_undo: bool
    fault: dict[str, Any] | None
    finished_at: datetime | None
    explanation: str


@dataclass(frozen=True, slots=True)
class ProcessProgress:
    id: int
    workflow: str
    version: int
    state: str
    is_final: bool
    sequence: int
    created_at: datetime
    finished_at: datetime | None
    #: What the process waits for, and what happens next.
    headline: str
    steps: tuple[StepProgress, ...]
    #: It is being undone, or was: steps that failed before need no operator any more.
    is_turned_round: bool
    #: It may still be cancelled: it is not final, being undone or past its point of no return.
    may_be_undone: bool
    #: What it is found by, as submitted; texts if this code lacks its workflow.  Only ``status``
    #: reads them: None elsewhere.
    attributes: Mapping[str, Any] | None = None

    @property
    def current(self) -> StepProgress | None:
        """Return the step that decides how the process goes on, if one does."""
        for state in (StepState.ERROR, StepState.PROCESSING, StepState.PENDING):
            for step in self.steps:
                is_past = state == StepState.ERROR and self.is_turned_round and not step.is_undo
                if step.state == state and not is_past:
                    return step
        return None


def snapshot(
    process_id: int, now: datetime | None = None, *, with_names: bool = True
) -> ProcessProgress:
    """Return where a process stands; raise ``StateError`` if there is none.

    Without ``with_names`` the sentences do not say who holds or paused something, and why:
    submitters may read them.
    """
    process = Process.objects.prefetch_related("steps").filter(pk=process_id).first()
    if process is None:
        raise refused("no_process", process=process_id)
    progress = of(process, *explaining.words().read(process, now, with_names=with_names))
    return replace(progress, attributes=_attributes(process))


def of_submitted(process: Process) -> ProcessProgress:
    """Return where a process stands that was just submitted, from memory.

    Reads it if a condition decides whether a first step is done.  Otherwise the reasons to wait do
    not include the state of the system, such as a hold.
    """
    workflow = completing.completed(registry.workflow(process.workflow, process.version))
    if create_processes.begins_judged(workflow):
        return snapshot(process.pk, with_names=False)
    rows = create_processes.steps(workflow, process.created_at)
    steps = [Step(process=process, **row) for row in rows]
    return _standing(process, steps, process.created_at, None)


def of(process: Process, now: datetime, facts: Any = None) -> ProcessProgress:
    """Return where a process stands that was read with its steps.

    Without ``facts``, from ``wait_facts.read``, it is unknown why a ready step is not claimed.
    """
    steps = sorted(process.steps.all(), key=lambda step: step.position)
    return _standing(process, steps, now, facts)


def _standing(
    process: Process, ordered: Sequence[Step], now: datetime, facts: Any
) -> ProcessProgress:
    settled = {step.name for step in ordered if step.state in SETTLED_STEP_STATES}
    words = explaining.words()
    reasons = [(step, words.step(step, process, now, facts, settled)) for step in ordered]
    steps = tuple(_step(step, why, now) for step, why in reasons)
    return ProcessProgress(
        id=process.pk,
        workflow=process.workflow,
        version=process.version,
        state=process.state,
        is_final=process.state in FINAL_PROCESS_STATES,
        sequence=process.sequence,
        created_at=process.created_at,
        finished_at=process.finished_at,
        headline=words.headline(process, reasons, now, facts),
        steps=steps,
        is_turned_round=process.outcome is not None,
        may_be_undone=process.state not in FINAL_PROCESS_STATES
        and process.outcome is None
        and not is_passed(process.no_return, {step.name: step.state for step in ordered}),
    )


def _attributes(process: Process) -> dict[str, Any]:
    known = registry.attributes()
    return {
        name: attributes.value(known.get(name, str), text)
        for name, text in of_processes([process]).get(process.pk, {}).items()
    }


def _step(step: Step, explanation: str, now: datetime) -> StepProgress:
    remaining = (step.due_by - now).total_seconds() if step.due_by else None
    is_parked = step.state == StepState.PENDING and step.not_before is not None
    retry = (step.not_before - now).total_seconds() if is_parked and step.not_before else None
    retry = retry if retry is not None and retry > 0 else None
    return StepProgress(
        name=step.name,
        state=step.state,
        agent=step.agent,
        attempt=step.attempt,
        failure_count=step.failure_count,
        failure_threshold=step.failure_threshold,
        timeout_seconds=step.spec.timeout_seconds,
        started_at=step.started_at,
        complete_by=step.due_by,
        remaining_seconds=remaining,
        not_before=step.not_before,
        retry_seconds=retry,
        # A deferred step is with no worker: its claim is kept for the answer.
        locked_by=None if step.deferral is not None else step.locked_by,
        is_deferred=step.deferral is not None,
        is_undo=step.undoes_id is not None,
        fault=step.fault,
        finished_at=step.finished_at,
        explanation=explanation,
    )
