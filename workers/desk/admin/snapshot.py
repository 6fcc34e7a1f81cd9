"""Snapshots of the processes of a page of rows: read for all in a handful of queries."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model, Prefetch, QuerySet

from workers.client import progress
from workers.client.progress import ProcessProgress, StepProgress
from workers.models import Process, Step
from workers.ops import wait_facts
from workers.ops.wait_facts import Situation
from workers.rules.masks import Mask
from workers.states import StepState

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class ProcessSnapshot:
    """One process at one instant of the database's clock."""

    process: Process
    progress: ProcessProgress
    now: datetime

    @property
    def current(self) -> StepProgress | None:
        return self.progress.current

    @property
    def fault(self) -> dict[str, Any] | None:
        """Return the current step's fault, or else the last one of any step."""
        if self.current is not None and self.current.fault:
            return self.current.fault
        faults = [step.fault for step in self.progress.steps if isinstance(step.fault, dict)]
        return max(faults, key=lambda fault: str(fault.get("at", "")), default=None)

    @property
    def is_paused(self) -> bool:
        return self.process.paused_at is not None and not self.progress.is_final

    @property
    def is_in_error(self) -> bool:
        return any(step.state == StepState.ERROR for step in self.progress.steps)


def with_steps(queryset: QuerySet[M], path: str = "") -> QuerySet[M]:
    """Have a queryset fetch the steps; ``path`` leads to the process (``process__``).

    Inputs, results and replies may be large and are left out.
    """
    steps = Step.objects.defer("result", "reply")
    return queryset.defer(f"{path}input").prefetch_related(Prefetch(f"{path}steps", steps))


def of(process: Process, situation: Situation) -> ProcessSnapshot:
    """Return the snapshot of a process that was fetched ``with_steps``."""
    process_progress = progress.of(process, situation.now, situation.facts)
    return ProcessSnapshot(process, process_progress, situation.now)


def at_once(process: Process, mask: Mask) -> ProcessSnapshot:
    """Return the present snapshot of one process; for a list, read the situation once."""
    return of(process, wait_facts.read([process], masks={process.pk: mask}))
