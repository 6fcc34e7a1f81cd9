"""Trying a verb out on copies of a process's rows: what would happen, or why not.

Reads nothing and writes nothing: the rows were read with the page.  The store decides anew,
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

#: What is said to the journal in a rehearsal, where nobody reads it.
NOBODY = "rehearsal"
#: Whether anybody is told matters only where it is written.
_PROCESS = tuple(field.name for field in fields(ProcessRow) if field.name != "is_told")
#: Large and looked at by no verb.
_STEP = tuple(field.name for field in fields(StepRow) if field.name not in ("result", "is_filed"))


class Rehearsal:
    """A process as it was read, for verbs to be tried out on, one after another."""

    def __init__(self, process: Process, now: datetime) -> None:
        """Take over a process that was read with its steps."""
        self._process = process
        self._steps = sorted(process.steps.all(), key=lambda step: step.position)
        self._places = {step.pk: place for place, step in enumerate(self._steps)}
        self._now = now
        self._stage: LockedProcess | None = None

    def stage(self) -> LockedProcess:
        """Return the rows as they were read, for one verb; good until the next call.

        Only the rows that the verb before touched are made anew: a page tries out several verbs
        for each of its steps.  A verb that changed a row without touching it would change nothing
        in the store either.
        """
        if self._stage is None:
            steps = [_row(step) for step in self._steps]
        else:
            steps = self._stage.steps
            for step_id in self._stage.step_origins:
                place = self._places[step_id]
                steps[place] = _row(self._steps[place])
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
