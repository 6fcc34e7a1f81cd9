"""What operators do to a process: each one transaction with its journal row."""

from datetime import datetime

from django.db import transaction

from workers import compensation, decisions
from workers.exceptions import StateError
from workers.locked import LockedProcess
from workers.store import rows, settling


@rows.again_when_lost
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
        # Branches that became ready while the process stood in error go on, too.
        settling.go_on([locked], actor, now, claim=False)
    return names


@rows.again_when_lost
def undo(
    process_id: int,
    *,
    outcome: str,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> compensation.Plan:
    """Turn a process round: ``outcome`` is cancelled or compensated.  Returns the plan.

    ``StateError`` is raised, and nothing changed, when the process is final, on its way back
    already, past its point of no return, or has moved since the operator saw ``sequence``.
    """
    with transaction.atomic():
        locked = _locked(process_id, sequence, now)
        plan = compensation.begin(locked, outcome, actor, reason)
        settling.go_on([locked], actor, now, claim=False)
    return plan


def preview(process_id: int) -> compensation.Plan:
    """Return what undoing a process would do just now; changes nothing.

    Raises ``StateError`` when there is no such process.
    """
    with transaction.atomic():
        return compensation.plan(_locked(process_id, None, None))


def _locked(process_id: int, sequence: int | None, now: datetime | None) -> LockedProcess:
    found = rows.lock([process_id], now)
    if not found:
        raise StateError(f"There is no process {process_id}.")
    if sequence is not None and found[0].process.sequence != sequence:
        raise StateError(
            f"{found[0].process.subject} has moved since the page was opened. Look again."
        )
    return found[0]
