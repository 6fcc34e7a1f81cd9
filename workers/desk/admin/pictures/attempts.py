"""Journal rows as attempts and marks.  Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from workers.desk.admin import badges, wording
from workers.models import Journal, Process, Step
from workers.states import CLOSED_STEP_STATES, PEOPLE, StepState


@dataclass(slots=True)
class Attempt:
    """One attempt of a step, from the moment it was ready until the attempt ended."""

    #: None if the journal does not reach back to it.
    number: int | None
    #: Since when the step was ready for it.
    ready_at: datetime
    called_at: datetime | None = None
    #: Since when it waits for a deferred answer.
    deferred_at: datetime | None = None
    #: None while it goes on.
    ended_at: datetime | None = None
    due_by: datetime | None = None
    #: The event that ended it; empty while it goes on.
    event: str = ""
    #: That event in words.
    event_text: str = ""
    by_hand: bool = False
    agent: str = ""
    fault: str = ""

    @property
    def tone(self) -> str:
        """Return the tone of its event, or ``live`` if it has not ended."""
        return wording.tone(self.event, by_hand=self.by_hand) if self.event else "live"

    @property
    def outcome(self) -> str:
        """Return in words how it ended, or its present state."""
        if self.event:
            return self.event_text
        if self.number is None:
            return wording.state(StepState.PENDING)
        return wording.state(StepState.PROCESSING)


@dataclass(frozen=True, slots=True)
class Mark:
    """One instant worth a mark: an operator's act, or an event that does not end an attempt."""

    at: datetime
    text: str
    tone: str
    actor: str
    reason: str = ""

    @property
    def is_by_person(self) -> bool:
        return self.actor.startswith(PEOPLE)


@dataclass(slots=True)
class StepHistory:
    """What happened to one step, in order."""

    step: Step
    attempts: list[Attempt] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not self.attempts and not self.marks

    @property
    def last_at(self) -> datetime:
        """Return when something last happened to a step that is not empty."""
        ends = [attempt.ended_at or attempt.ready_at for attempt in self.attempts]
        return max([*ends, *(mark.at for mark in self.marks)])


def of_steps(process: Process, steps: Iterable[Step], rows: Sequence[Journal]) -> list[StepHistory]:
    """Return the history of each step, in the steps' order; ``rows`` come oldest first."""
    by_step: dict[int, list[Journal]] = {}
    for row in rows:
        if row.step_id is not None:
            by_step.setdefault(row.step_id, []).append(row)
    return [_history(process, step, by_step.get(step.pk, [])) for step in steps]


def of_process(rows: Sequence[Journal]) -> list[Mark]:
    """Return the marks of the process as a whole."""
    return [_mark(row) for row in rows if row.step_id is None]


def _history(process: Process, step: Step, rows: Sequence[Journal]) -> StepHistory:
    history = StepHistory(step)
    # A step with nothing before it is ready from the submission on.
    is_first = not step.spec.after and step.undoes_id is None
    ready_at = process.created_at if is_first else None
    open_attempt: Attempt | None = None
    for row in rows:
        if row.after == StepState.PROCESSING:
            open_attempt = Attempt(number=row.attempt, ready_at=ready_at or row.at)
            open_attempt.agent = str(_detail(row).get("agent", ""))
            history.attempts.append(open_attempt)
        elif row.before == StepState.PROCESSING:
            if open_attempt is None:
                claimed_at = _instant(_detail(row).get("claimed_at")) or row.at
                open_attempt = Attempt(number=row.attempt, ready_at=claimed_at)
                history.attempts.append(open_attempt)
            _end(open_attempt, row)
            open_attempt = None
        elif row.event == "deferred" and open_attempt is not None:
            open_attempt.deferred_at = row.at
        elif _needs_mark(row):
            history.marks.append(_mark(row))
        if row.after == StepState.PENDING:
            ready_at = row.at
        elif row.after is not None:
            ready_at = None
    _add_present(history, open_attempt, ready_at)
    return history


def _add_present(
    history: StepHistory, open_attempt: Attempt | None, ready_at: datetime | None
) -> None:
    """Add what only the step's row has: the start of the present claim, or the wait for one."""
    step = history.step
    if step.state == StepState.PROCESSING:
        if open_attempt is None:
            since = step.started_at
            if since is None:
                return
            open_attempt = Attempt(number=step.attempt, ready_at=since)
            history.attempts.append(open_attempt)
        open_attempt.called_at = step.started_at
        open_attempt.due_by = step.due_by
        open_attempt.agent = step.agent
    elif step.state == StepState.PENDING and ready_at is not None:
        # It waits; no claim yet.
        history.attempts.append(Attempt(number=None, ready_at=ready_at, agent=step.agent))


def _end(attempt: Attempt, row: Journal) -> None:
    detail = _detail(row)
    attempt.ended_at = row.at
    attempt.event = row.event
    attempt.event_text = wording.of_row(row)
    attempt.by_hand = bool(detail.get("by_hand"))
    attempt.called_at = _instant(detail.get("started_at"))
    attempt.due_by = _instant(detail.get("complete_by"))
    attempt.agent = str(detail.get("agent") or attempt.agent)
    attempt.fault = badges.fault_text(detail.get("fault"))
    if attempt.deferred_at is not None and attempt.called_at is None:
        attempt.called_at = attempt.deferred_at


def _needs_mark(row: Journal) -> bool:
    """Return whether a row that neither begins nor ends an attempt is worth a mark."""
    if row.actor.startswith(PEOPLE):
        return True
    return wording.tone(row.event) != "plain" and row.after not in CLOSED_STEP_STATES


def _mark(row: Journal) -> Mark:
    detail = _detail(row)
    by_hand = bool(detail.get("by_hand"))
    tone = "person" if row.actor.startswith(PEOPLE) else wording.tone(row.event, by_hand=by_hand)
    return Mark(row.at, wording.of_row(row), tone, row.actor, str(detail.get("reason") or ""))


def _detail(row: Journal) -> dict[str, Any]:
    return row.detail if isinstance(row.detail, dict) else {}


def _instant(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
