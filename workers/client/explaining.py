"""Why processes and steps wait: codes with parameters, or the words that somebody registers."""

from collections.abc import Sequence, Set
from datetime import datetime
from typing import Any

from workers.models import Process, Step
from workers.states import SETTLED_STEP_STATES, StepState
from workers.store import key_places
from workers.store.db import dialect

_OF_STEP = {
    StepState.PENDING: ("failure_count", "not_before"),
    StepState.PROCESSING: ("locked_by", "complete_by"),
}
_OF_PROCESS = ("outcome", "paused_at", "deadline_at")


class Codes:
    """The engine's own words: states, and the columns that decide what comes next.

    ``facts`` is what ``read`` returned, or None.
    """

    def read(
        self, process: Process, now: datetime | None, *, with_names: bool
    ) -> tuple[datetime, Any]:
        """Return the database's time, and what blocked steps wait for."""
        is_limited = process.limit_values is not None
        at = dialect.read_clock(now)
        return at, key_places.waits([process.pk], 0, at) if is_limited else {}

    def step(
        self, row: Step, process: Process, now: datetime, facts: Any, settled: Set[str]
    ) -> str:
        """Return why a step waits; empty once it is over."""
        if row.state in SETTLED_STEP_STATES:
            return ""
        waits_for = ",".join(name for name in row.spec.after if name not in settled)
        fault = (row.fault or {}).get("code")
        columns = _OF_STEP.get(StepState(row.state), ())
        blocked = (facts or {}).get(row.pk)
        blocked_by = blocked and blocked.attribute
        return _coded(row.state, row, columns, after=waits_for, fault=fault, blocked_by=blocked_by)

    def headline(
        self, process: Process, steps: Sequence[tuple[Step, str]], now: datetime, facts: Any
    ) -> str:
        """Return what a process waits for; ``steps`` has each step with its text."""
        texts = [f"{row.name}: {text}" for row, text in steps if text]
        return "; ".join([_coded(process.state, process, _OF_PROCESS), *texts])


def _coded(code: str, row: Any, columns: Sequence[str], **params: Any) -> str:
    """Return a code with those of its parameters that have a value."""
    values = {name: getattr(row, name) for name in columns} | params
    return " ".join(
        [code]
        + [
            f"{name}={value.isoformat() if isinstance(value, datetime) else value}"
            for name, value in values.items()
            if value
        ]
    )


_words: Any = Codes()


def register_words(words: Any) -> None:
    """Have snapshots explained by what has the functions of ``Codes``, such as a module."""
    global _words  # noqa: PLW0603 (set once, when the app is ready)
    _words = words


def words() -> Any:
    return _words
