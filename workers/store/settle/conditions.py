"""Asking definitions about steps that became ready: whether at all, and not before when."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from workers.definitions import registry
from workers.exceptions import UnknownWorkflow
from workers.protocol.faults import FaultRecord
from workers.rules import on_failure
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import StepState
from workers.store.locked import contexts
from workers.store.locked.contexts import Context

log = logging.getLogger(__name__)


def judge(lockeds: Sequence[LockedProcess], actor: str) -> set[int]:
    """Skip or delay the ready steps whose definitions say so.

    Returns the ids of ready steps that nobody here can judge: their version is not in this
    code, and they stay as they are for a process that has it.
    """
    unknown: set[int] = set()
    asked: set[int] = set()
    while True:
        # Judged again after each round: a step that is skipped makes others ready.
        ready = [
            (locked, step)
            for locked in lockeds
            if locked.is_forward
            for step in locked.ready_forward_steps()
            if step.is_judged and step.id not in asked
        ]
        if not ready:
            return unknown
        known = contexts.of_all(locked for locked, _ in ready)
        for locked, step in ready:
            asked.add(step.id)
            if not _judge(locked, step, known[locked.process.id], actor):
                unknown.add(step.id)


def _judge(locked: LockedProcess, step: StepRow, context: Context, actor: str) -> bool:
    results = _results(locked, context)
    try:
        spec = registry.workflow(context.workflow, context.version).by_name[step.name]
        # A savepoint: what goes wrong in the database there must not take our own writes along.
        with transaction.atomic():
            is_wanted = spec.when is None or bool(spec.when(context.input, results))
            until = spec.until(context.input, results) if spec.until and is_wanted else None
        if until is not None and (not isinstance(until, datetime) or until.tzinfo is None):
            raise TypeError(f"until returned {until!r}, which is no instant with a time zone")
    except UnknownWorkflow as error:
        locked.alert("unknown_definition", step, is_counted=False, **error.params)
        return False
    except Exception as error:
        log.exception("condition_failed", extra={"step": step.name})
        _fail(locked, step, error, actor)
        return True
    if not is_wanted:
        locked.move(
            step, StepState.SKIPPED, "skipped", actor, public=True, reason="its condition is false"
        )
    elif until is not None and until > locked.now:
        step.not_before = until
        locked.move(step, StepState.PENDING, "ready", actor, not_before=until.isoformat())
    return True


def _results(locked: LockedProcess, context: Context) -> dict[str, Any]:
    """Return the results of settled steps: those just moved here, then those on their rows."""
    return {
        step.name: context.results.get(step.name, {}) if step.result is None else step.result
        for step in locked.steps
        if step.state == StepState.PROCESSED
    }


def _fail(locked: LockedProcess, step: StepRow, error: Exception, actor: str) -> None:
    locked.touch(step)
    fault = FaultRecord.of_error("permanent", on_failure.CONDITION_FAILED, error)
    step.fault = fault.noted(locked.now)
    locked.move(step, StepState.ERROR, "condition_failed", actor, public=True)
    on_failure.carry_out(locked, step, actor)
