"""Ending processes whose workflow is told of it: in one transaction with what it writes itself."""

import logging
from collections.abc import Sequence

from django.db import transaction

from workers.definitions import registry
from workers.definitions.workflow import End
from workers.exceptions import in_a_line
from workers.rules import hold_endings
from workers.rules.rows import AlertCall, Entry
from workers.rules.transitions import LockedProcess
from workers.store import alerts, live_code
from workers.store.locked import contexts, load
from workers.store.locked.contexts import Context

log = logging.getLogger(__name__)


def end(held: Sequence[tuple[LockedProcess, Entry]]) -> None:
    """End processes, everything else of which is written, and call their ``on_end``.

    Each in a savepoint: where ``on_end`` raises, its process has not ended, nothing that it wrote
    is left, and an operator is told.  The poll, which finds that the process stands still, tries
    again; the others end.  The same where this code does not know the workflow; where a live
    worker does, the process is left to that.
    """
    read = contexts.of_all(locked for locked, _ in held)
    for locked, ending in held:
        before = load.count_as_written(locked)
        if _is_left(locked):
            locked.touch_process()
            locked.process.needs_decision = True
            load.write([locked])
            locked.entries = [*before, *locked.entries]
            continue
        alert = _end(locked, ending, read[locked.process.id])
        locked.entries = [*before, *([] if alert else locked.entries)]
        if alert:
            alerts.write([alert], locked.now)


def _is_left(locked: LockedProcess) -> bool:
    """Say whether a live worker knows the process's version, and this code does not."""
    process = locked.process
    if registry.has_workflow(process.workflow, process.version):
        return False
    return live_code.known_elsewhere().has_version(process.workflow, process.version)


def _end(locked: LockedProcess, ending: Entry, context: Context) -> AlertCall | None:
    """End a process; return the alert where it could not be ended."""
    process = locked.process
    try:
        with transaction.atomic():
            hold_endings.end(locked, ending)
            load.write([locked])
            on_end = registry.workflow(context.workflow, context.version).on_end
            if on_end is not None:
                on_end(End(process.id, process.subject, process.state, context.results))
    except Exception as error:
        if transaction.get_rollback():
            # Not even the savepoint is left: the database is away.
            raise
        log.exception("on_end_failed", extra={"process_id": process.id})
        reason = in_a_line(error)[:500]
        return AlertCall(
            f"on_end_failed:process:{process.id}",
            "on_end_failed",
            {
                "subject": process.subject,
                "state": ending.after,
                "workflow": context.workflow,
                "version": context.version,
                "reason": reason,
            },
            process.id,
        )
    return None
