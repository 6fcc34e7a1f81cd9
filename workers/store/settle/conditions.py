"""Evaluate ``when`` and ``until`` of steps that became ready; skip what became needless."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from workers.definitions import registry
from workers.definitions.workflow import ask
from workers.exceptions import UnknownWorkflow
from workers.protocol.faults import FaultRecord
from workers.rules import calling_off, on_failure
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import StepState
from workers.store import live_workers
from workers.store.locked import contexts, log_lines
from workers.store.locked.contexts import Context

log = logging.getLogger(__name__)


def judge(processes: Sequence[LockedProcess], actor: str) -> set[int]:
    """Skip steps that became needless; skip or delay ready ones by their ``when`` and ``until``.

    Returns the ids of ready steps that this code cannot judge: it does not have their version, so
    they stay as they are for a worker that has it.
    """
    unjudged: set[int] = set()
    unknown_versions: list[tuple[LockedProcess, StepRow, UnknownWorkflow]] = []
    judged_ids: set[int] = set()
    while True:
        for locked in processes:
            calling_off.call_off(locked, actor)
        # Repeat after each round: a skipped step makes others ready.
        ready = [
            (locked, step)
            for locked in processes
            if locked.is_forward
            for step in locked.ready_forward_steps()
            if step.spec.is_judged and step.id not in judged_ids
        ]
        if not ready:
            _leave_to_others(unknown_versions)
            return unjudged
        contexts_by_id = contexts.of_all(locked for locked, _ in ready)
        for locked, step in ready:
            judged_ids.add(step.id)
            try:
                _judge(locked, step, contexts_by_id[locked.process.id], actor)
            except UnknownWorkflow as error:
                unjudged.add(step.id)
                unknown_versions.append((locked, step, error))


def _judge(locked: LockedProcess, step: StepRow, context: Context, actor: str) -> None:
    results = _results(locked, context)
    try:
        spec = registry.workflow(context.workflow, context.version).step(step.name)
        # A savepoint: a database error in the definition must not roll back the engine's writes.
        with transaction.atomic():
            is_wanted = spec.when is None or ask("when", spec.when, context.input, results)
            until = spec.until(context.input, results) if spec.until and is_wanted else None
        if until is not None and (not isinstance(until, datetime) or until.tzinfo is None):
            raise TypeError(f"until returned {until!r}, which is no instant with a time zone")
    except UnknownWorkflow:
        raise
    except Exception as error:
        log.exception("condition_failed", extra={**log_lines.about(locked), "step": step.name})
        _fail(locked, step, error, actor)
        return
    if not is_wanted:
        locked.move(
            step, StepState.SKIPPED, "skipped", actor, public=True, reason="its condition is false"
        )
    elif until is not None and until > locked.now:
        step.not_before = until
        locked.move(step, StepState.PENDING, "ready", actor, not_before=until.isoformat())


def _leave_to_others(
    unjudged: Sequence[tuple[LockedProcess, StepRow, UnknownWorkflow]],
) -> None:
    """Flag the processes whose version a live worker has; raise an alert for the others."""
    if not unjudged:
        return
    elsewhere = live_workers.known_elsewhere()
    for locked, step, error in unjudged:
        process = locked.process
        if elsewhere.has_version(process.workflow, process.version):
            locked.touch_process()
            process.needs_decision = True
        else:
            locked.alert("unknown_definition", step, is_counted=False, **error.params)


def _results(locked: LockedProcess, context: Context) -> dict[str, Any]:
    """Return the results of settled steps: those just moved in memory, else those of their rows."""
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
