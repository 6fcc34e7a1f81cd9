"""Trying a verb out on copies of a process's rows: what would happen, or why not.

Reads nothing and writes nothing: the rows were read with the page.  The store decides again,
under its lock, when the verb is carried out.
"""

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from typing import TypeVar

from workers.exceptions import StateError
from workers.models import Process, Step
from workers.protocol.faults import FaultRecord
from workers.rules.rows import ProcessRow, StepRow
from workers.rules.transitions import LockedProcess

T = TypeVar("T")

#: The actor of a rehearsal, whose journal entries are thrown away.
NOBODY = "rehearsal"
#: ``is_told`` matters only when the row is written.
_PROCESS = tuple(field.name for field in fields(ProcessRow) if field.name != "is_told")
#: Without large columns that no verb reads.
_STEP = tuple(field.name for field in fields(StepRow) if field.name not in ("result", "is_filed"))


class Rehearsal:
    """Tries verbs, one after another, on a process as it was read."""

    def __init__(self, process: Process, now: datetime) -> None:
        """Take over a process that was read with its steps."""
        self._process = process
        self._steps = sorted(process.steps.all(), key=lambda step: step.position)
        self._indexes = {step.pk: index for index, step in enumerate(self._steps)}
        self._now = now
        self._stage: LockedProcess | None = None

    def stage(self) -> LockedProcess:
        """Return the rows as they were read, for one verb; good until the next call.

        Copies anew only the rows that the previous verb touched: a page tries several verbs for
        each of its steps.  A verb that changed a row without touching it would change nothing in
        the store either.
        """
        if self._stage is None:
            steps = [_row(step) for step in self._steps]
        else:
            steps = self._stage.steps
            for step_id in self._stage.step_origins:
                index = self._indexes[step_id]
                steps[index] = _row(self._steps[index])
        process = ProcessRow(**{name: getattr(self._process, name) for name in _PROCESS})
        self._stage = LockedProcess(process, steps, self._now)
        return self._stage

    def refusal(self, verb: Callable[[LockedProcess], object]) -> str:
        """Return why ``verb`` would be refused; empty when it would not."""
        try:
            verb(self.stage())
        except StateError as error:
            return str(error)
        return ""


def _row(step: Step) -> StepRow:
    values = {name: getattr(step, name) for name in _STEP}
    return StepRow(**values | {"fault": FaultRecord.from_json(step.fault)})
