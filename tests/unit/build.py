"""Rows in memory for tests of pure decisions."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from zlib import crc32

from workers.rules.rows import ProcessRow, StepRow
from workers.rules.transitions import LockedProcess
from workers.specs import SpecRow

SPEC = fields(SpecRow)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_step(name: str = "one", state: str = "processing", **columns: Any) -> StepRow:
    """Return a step row; a processing one has a started claim."""
    shared = {field.name: columns.pop(field.name) for field in SPEC if field.name in columns}
    step = StepRow(
        id=crc32(name.encode()),
        process_id=1,
        name=name,
        state=state,
        agent="toy.alpha",
        spec=SpecRow(**shared),
    )
    if state == "processing":
        step.attempt = 1
        step.claim_id = uuid4()
        step.locked_by = "agent@test"
        step.started_at = NOW - timedelta(seconds=1)
        step.complete_by = NOW + timedelta(seconds=29)
        step.may_have_effect = True
    if state == "pending":
        step.not_before = NOW
    for column, value in columns.items():
        setattr(step, column, value)
    return step


def give(step: StepRow, name: str, value: Any) -> None:
    """Set a value of a step's own, or of its spec."""
    if name in {field.name for field in SPEC}:
        step.spec = replace(step.spec, **{name: value})
    else:
        setattr(step, name, value)


def a_process(*steps: StepRow, state: str = "processing", sequence: int = 5) -> LockedProcess:
    return LockedProcess(ProcessRow(1, state, "Toy 1", sequence=sequence), list(steps), NOW)
