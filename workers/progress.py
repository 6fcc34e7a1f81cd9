"""Reading a process: a snapshot for pages, programs and operators.  Changes nothing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from workers.models import Process, Step
from workers.states import FINAL_PROCESS_STATES, ProcessState, StepState
from workers.store import sql


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

    @property
    def current(self) -> StepProgress | None:
        """Return the step that decides how the process goes on, if one does."""
        for state in (StepState.ERROR, StepState.PROCESSING, StepState.PENDING):
            for step in self.steps:
                if step.state == state:
                    return step
        return None


def snapshot(process_id: int, now: datetime | None = None) -> ProcessProgress:
    """Return where a process stands; raise ``Process.DoesNotExist`` where there is none."""
    process = Process.objects.prefetch_related("steps").get(pk=process_id)
    return of(process, sql.read_clock(now))


def of(process: Process, now: datetime) -> ProcessProgress:
    """Return where a process stands that was read with its steps."""
    ordered = sorted(process.steps.all(), key=lambda step: step.position)
    steps = tuple(_step(step, now) for step in ordered)
    return ProcessProgress(
        id=process.pk,
        workflow=process.workflow,
        version=process.version,
        state=process.state,
        is_final=process.state in FINAL_PROCESS_STATES,
        sequence=process.sequence,
        created_at=process.created_at,
        finished_at=process.finished_at,
        headline=_headline(process, steps),
        steps=steps,
    )


def _step(step: Step, now: datetime) -> StepProgress:
    remaining = (step.complete_by - now).total_seconds() if step.complete_by else None
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
        timeout_seconds=step.timeout_seconds,
        started_at=step.started_at,
        complete_by=step.complete_by,
        remaining_seconds=remaining,
        not_before=step.not_before,
        retry_seconds=retry,
        locked_by=step.locked_by,
        fault=step.fault,
        finished_at=step.finished_at,
        explanation=_explanation(step, remaining, retry),
    )


def _explanation(step: Step, remaining: float | None, retry: float | None) -> str:
    reason = (step.fault or {}).get("message", "")
    if step.state == StepState.WAITING:
        return _("waits for %(steps)s") % {"steps": ", ".join(step.after)}
    if step.state == StepState.PENDING and retry is not None:
        return _("tried again in %(seconds)d s: %(reason)s") % {
            "seconds": round(retry),
            "reason": reason or _("no reason was given"),
        }
    if step.state == StepState.PENDING:
        return _("waits for room at agent %(agent)s") % {"agent": step.agent}
    if step.state == StepState.PROCESSING and remaining is None:
        return _("waits for a worker of agent %(agent)s since %(at)s") % {
            "agent": step.agent,
            "at": step.claimed_at.strftime("%H:%M:%S") if step.claimed_at else "",
        }
    if step.state == StepState.PROCESSING and remaining is not None and remaining > 0:
        return _("%(worker)s works on it, %(seconds)d s left") % {
            "worker": step.locked_by,
            "seconds": round(remaining),
        }
    if step.state == StepState.PROCESSING:
        return _("its time is over: the Supervisor resets it at its next sweep")
    if step.state == StepState.ERROR:
        return _("failed for good: %(reason)s") % {"reason": reason}
    if step.state == StepState.SKIPPED:
        return _("skipped: %(reason)s") % {"reason": reason}
    return ""


def _headline(process: Process, steps: tuple[StepProgress, ...]) -> str:
    if process.state == ProcessState.PROCESSED:
        return _("Everything is done.")
    if process.state == ProcessState.COMPENSATED:
        return _("It could not be finished. Everything that was done has been undone.")
    if process.state == ProcessState.CANCELLED:
        return _("It was cancelled. Everything that was done has been undone.")
    if process.state == ProcessState.ERROR:
        # Of a process that was turned round it is the undo that needs somebody: the last.
        in_error = [step for step in steps if step.state == StepState.ERROR]
        failed = in_error[-1 if process.outcome else 0] if in_error else None
        return _("Needs an operator: %(step)s %(why)s.") % {
            "step": failed.name if failed else "",
            "why": failed.explanation if failed else "",
        }
    for state in (StepState.PROCESSING, StepState.PENDING):
        busy = [step for step in steps if step.state == state]
        if busy:
            return "; ".join(f"{step.name} {step.explanation}" for step in busy) + "."
    return _("Waits for the Scheduler to look at it.")
