"""What operators do to a process: each one transaction with its journal row."""

from datetime import datetime

from django.db import transaction

from workers import decisions
from workers.exceptions import StateError
from workers.locked import LockedProcess
from workers.store import rows


def resubmit(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> list[str]:
    """Give the steps in error their attempts back; return the steps' names.

    ``sequence`` is the process's as the operator saw it: ``StateError`` is raised, and
    nothing changed, when the process has moved since, when it is not in error, or when
    there is no such process.
    """
    with transaction.atomic():
        locked = _locked(process_id, sequence, now)
        names = decisions.resubmit(locked, actor, reason)
        rows.write([locked])
    return names


def _locked(process_id: int, sequence: int | None, now: datetime | None) -> LockedProcess:
    found = rows.lock([process_id], now)
    if not found:
        raise StateError(f"There is no process {process_id}.")
    if sequence is not None and found[0].process.sequence != sequence:
        raise StateError(
            f"{found[0].process.subject} has moved since the page was opened. Look again."
        )
    return found[0]
