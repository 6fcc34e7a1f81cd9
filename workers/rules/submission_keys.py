"""Decide until when a submission key is taken, and whether its process may be replaced.  Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import get_args

from workers.exceptions import BadText
from workers.rules.rows import KeyFor, NewProcess, OnConflict
from workers.rules.transitions import LockedProcess
from workers.runtime import storable_text
from workers.states import FINAL_PROCESS_STATES, ProcessState, StepState

#: The length of the column.
LONGEST = 400
LONGEST_TIME = timedelta(days=36_500)
#: What the column has for a key that is taken for ever.
FOR_EVER = datetime(9999, 1, 1, tzinfo=UTC)


def check(wanted: Sequence[NewProcess]) -> None:
    """Raise ``BadText``, ``ValueError`` or ``TypeError`` for keys that nothing can hold."""
    for process in wanted:
        _check_key(process.submission_key)
        if process.on_conflict not in (told := get_args(OnConflict)):
            raise ValueError(f"on_conflict must be {', '.join(told)}, got {process.on_conflict!r}.")
        _check_time(process.key_for)
    keys = Counter(process.submission_key for process in wanted if process.submission_key)
    twice = [key for key, times in keys.items() if times > 1]
    if twice:
        raise ValueError(f"submission_key must differ within a call, got {twice[0]!r} twice.")


def _check_key(key: str | None) -> None:
    if key is not None:
        storable_text.check("submission_key", key, LONGEST)
        if not key.strip():
            raise BadText(f"submission_key must not be blank, got {key!r}. Give None for no key.")


def _check_time(key_for: object) -> None:
    if key_for is None or key_for == "until ended":
        return
    if not isinstance(key_for, timedelta):
        kind = ValueError if isinstance(key_for, str) else TypeError
        raise kind(f'key_for must be "until ended", a timedelta or None, got {key_for!r}.')
    if not timedelta(0) < key_for <= LONGEST_TIME:
        raise ValueError(
            f"key_for must be more than 0 and at most {LONGEST_TIME.days} days, got {key_for}."
            " Give None for ever."
        )


def until(key_for: KeyFor, at: datetime) -> datetime | None:
    """Return until when a key is taken that is submitted ``at``; None: until its process ends."""
    if key_for is None:
        return FOR_EVER
    return at + key_for if isinstance(key_for, timedelta) else None


def is_taken(state: str, key_until: datetime | None, at: datetime) -> bool:
    """Say whether the last process of a key still holds it; one in error has not ended."""
    return state not in FINAL_PROCESS_STATES if key_until is None else at < key_until


def has_begun(locked: LockedProcess) -> bool:
    """Say whether a step of a process was ever claimed, or done by hand."""
    untouched = {StepState.WAITING, StepState.PENDING, StepState.SKIPPED}
    return locked.process.state != ProcessState.PENDING or any(
        step.state not in untouched for step in locked.steps
    )
