"""Lines in the log: of each attempt that failed, and of each process that was not processed."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import transaction

from workers.rules.rows import Entry
from workers.rules.transitions import LockedProcess
from workers.states import UNDONE_PROCESS_STATES, ProcessState

log = logging.getLogger(__name__)

#: Events of a step that end an attempt without its result; of a process that end it so.
FAILED = frozenset({"failed", "expired", "parked", "refused"})
ENDED = UNDONE_PROCESS_STATES | {ProcessState.ERROR}


def write_after_commit(lockeds: Sequence[LockedProcess]) -> None:
    """Log what went wrong with processes once that is committed, and nothing if it is not."""
    lines = [line for locked in lockeds for entry in locked.entries for line in _of(locked, entry)]
    if lines:
        # Not a partial: where it raises, Django asks for its name.
        transaction.on_commit(lambda: _write(lines), robust=True)


def _of(locked: LockedProcess, entry: Entry) -> Iterator[tuple[str, dict[str, Any]]]:
    process = {"process_id": locked.process.id, "subject": locked.process.subject}
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
                # Not what the service said: that may be personal.
                "code": fault.get("code"),
                "next": entry.after,
            },
        )


def _write(lines: Sequence[tuple[str, dict[str, Any]]]) -> None:
    for event, facts in lines:
        log.warning(event, extra=facts)
