"""End processes whose workflow has ``on_end``, in one transaction with what that writes."""

import logging
from collections.abc import Sequence

from django.db import transaction

from workers.definitions import registry
from workers.definitions.workflow import End
from workers.exceptions import in_a_line
from workers.rules import hold_endings
from workers.rules.rows import AlertCall, Entry
from workers.rules.transitions import LockedProcess
from workers.store import alerts, live_workers
from workers.store.locked import contexts, load, log_lines
from workers.store.locked.contexts import Context

log = logging.getLogger(__name__)


def end(endings: Sequence[tuple[LockedProcess, Entry]]) -> None:
    """End processes whose other decisions are written, and call their ``on_end``.

    Each runs in a savepoint: if ``on_end`` raises, its process has not ended, its writes are rolled
    back, and an alert is raised; the other processes end.  The poll finds that the process stands
    still, and tries again.  The same happens if no live worker has the workflow; if another worker
    has it and this code does not, the process is left to that worker.
    """
    contexts_by_id = contexts.of_all(locked for locked, _ in endings)
    for locked, ending in endings:
        entries = load.count_as_written(locked)
        if _is_left_to_others(locked):
            locked.touch_process()
            locked.process.needs_decision = True
            load.write([locked])
            locked.entries = [*entries, *locked.entries]
            continue
        alert = _end(locked, ending, contexts_by_id[locked.process.id])
        locked.entries = [*entries, *([] if alert else locked.entries)]
        if alert:
            alerts.write([alert], locked.now)


def _is_left_to_others(locked: LockedProcess) -> bool:
    """Say whether a live worker has the process's version, and this code does not."""
    process = locked.process
    if registry.has_workflow(process.workflow, process.version):
        return False
    return live_workers.known_elsewhere().has_version(process.workflow, process.version)


def _end(locked: LockedProcess, ending: Entry, context: Context) -> AlertCall | None:
    """End a process; return an alert if it could not be ended."""
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
            # The savepoint is gone, too: the database is unavailable.
            raise
        log.exception("on_end_failed", extra=log_lines.about(locked))
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
