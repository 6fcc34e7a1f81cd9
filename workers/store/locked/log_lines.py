"""Write log lines: for each failed attempt, and each process that ended unprocessed.

Every line about a process, these and others, has its id, subject and trace (``about``).
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import transaction

from workers.rules.rows import Entry
from workers.rules.transitions import LockedProcess
from workers.runtime import tracing
from workers.states import UNDONE_PROCESS_STATES, ProcessState

log = logging.getLogger(__name__)

#: Step events that end an attempt without a result; process events that end it unprocessed.
FAILED = frozenset({"failed", "expired", "parked", "refused"})
ENDED = UNDONE_PROCESS_STATES | {ProcessState.ERROR}


def write_after_commit(processes: Sequence[LockedProcess]) -> None:
    """Log failed attempts and processes after the commit; log nothing if it fails."""
    lines = [
        line for locked in processes for entry in locked.entries for line in _of(locked, entry)
    ]
    if lines:
        # Not a partial: if it raises, Django reads its name.
        transaction.on_commit(lambda: _write(lines), robust=True)


def about(locked: LockedProcess) -> dict[str, Any]:
    """Return the fields by which all lines of a process are found, here and in its services."""
    # A process has steps, and each key begins with the trace.
    key = next((step.idempotency_key for step in locked.steps if step.idempotency_key), "")
    return {
        "process_id": locked.process.id,
        "subject": locked.process.subject,
        "trace": tracing.trace_id(key),
    }


def _of(locked: LockedProcess, entry: Entry) -> Iterator[tuple[str, dict[str, Any]]]:
    process = about(locked)
    if entry.step_id is None:
        if entry.event in ENDED:
            yield "process_ended", {**process, "state": entry.event}
    elif entry.event in FAILED:
        fault = entry.detail.get("fault", {})
        yield (
            "attempt_failed",
            {
                **process,
                "step": entry.detail["step"],
                "agent": entry.detail.get("agent"),
                "attempt": entry.attempt,
                "how": entry.event,
                # Not the service's message: that may be personal.
                "code": fault.get("code"),
                "next": entry.after,
            },
        )


def _write(lines: Sequence[tuple[str, dict[str, Any]]]) -> None:
    for event, facts in lines:
        log.warning(event, extra=facts)
