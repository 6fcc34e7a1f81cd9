"""A process and its steps, read under the process's lock, and the moves on them.

Pure values: nothing here touches the database.  The state store reads a ``LockedProcess``,
decisions move its rows, and the store writes the moved rows, their journal entries and their
alerts in one transaction.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

from workers.definitions.sentences import say_names
from workers.exceptions import StateError
from workers.protocol.faults import FaultRecord
from workers.rules import evidence
from workers.rules.backoff import Backoff, is_exhausted, is_out_of_time
from workers.rules.rows import AlertCall, Entry, Origin, PlannedUndo, ProcessRow, StepRow
from workers.runtime.timestamps import text_of
from workers.states import (
    CLOSED_STEP_STATES,
    FINAL_PROCESS_STATES,
    FORWARD_PROCESS_STATES,
    OPEN_PROCESS_STATES,
    SETTLED_STEP_STATES,
    ProcessState,
    StepState,
    may_move_process,
    may_move_step,
)


class LockedProcess:
    """One process, its steps, and the decisions about them at the instant ``now``."""

    def __init__(self, process: ProcessRow, steps: list[StepRow], now: datetime) -> None:
        self.process = process
        self.steps = steps
        self.now = now
        self.entries: list[Entry] = []
        self.alerts: list[AlertCall] = []
        #: Each row's values before its first move: the store's WHERE.
        self.step_origins: dict[int, Origin] = {}
        #: Undo steps that the store has to create before the process goes on.
        self.planned: list[PlannedUndo] = []
        self.process_origin: str | None = None
        #: The values of the writable columns as read: the store writes those that differ.
        self.process_as_read: Sequence[Any] = ()
        self.steps_as_read: dict[int, Sequence[Any]] = {}
        #: Keys in which a place may have come free, each with the agent; "": it is the process's.
        self.freed_keys: dict[str, str] = {}
        #: The input, and the results by step, as JSON texts from the database; None: not read.
        self.input_as_read: str | None = None
        self.results_as_read: dict[int, str] = {}

    def step(self, step_id: int) -> StepRow | None:
        return next((step for step in self.steps if step.id == step_id), None)

    def named(self, name: str, among: Sequence[StepRow] | None = None) -> StepRow:
        """Return the step with this name, of all or ``among`` some, or raise ``StateError``."""
        steps = self.steps if among is None else among
        for step in steps:
            if step.name == name:
                return step
        names = say_names([step.name for step in steps])
        raise StateError(f"{self.process.subject} has no step {name!r}. Its steps: {names}.")

    @property
    def is_open(self) -> bool:
        """Say whether steps may be claimed."""
        return self.process.state in OPEN_PROCESS_STATES

    @property
    def is_forward(self) -> bool:
        """Say whether the process goes forward, not back."""
        return self.process.state in FORWARD_PROCESS_STATES

    @property
    def is_being_undone(self) -> bool:
        """Say whether the process compensates, or is in error because an undo failed."""
        return self.process.outcome is not None

    @property
    def is_paused(self) -> bool:
        """Say whether an operator has paused the process: no step of it is claimed."""
        return self.process.paused_at is not None

    def is_given_up(self, step: StepRow) -> bool:
        """Say whether a step is given up: its effect, if any, will be undone."""
        return (
            self.is_being_undone
            and step.undoes_id is None
            and (not self.process.renews or step.name in self.process.renews)
        )

    @property
    def has_news(self) -> bool:
        """Say whether there is news for a submitter who wants to be told."""
        return self.process.is_told and any(entry.sequence for entry in self.entries)

    @property
    def had_ended(self) -> bool:
        """Say whether the process had ended before these decisions."""
        return (self.process_origin or self.process.state) in FINAL_PROCESS_STATES

    @property
    def forward_steps(self) -> list[StepRow]:
        return [step for step in self.steps if step.undoes_id is None]

    @property
    def undo_steps(self) -> list[StepRow]:
        return [step for step in self.steps if step.undoes_id is not None]

    @property
    def active_steps(self) -> list[StepRow]:
        """Return the steps that move the process: only the undo steps while it compensates."""
        return self.undo_steps if self.is_being_undone else self.forward_steps

    @property
    def active_state(self) -> ProcessState:
        """Return the state in which the process resumes after an error."""
        return ProcessState.COMPENSATING if self.is_being_undone else ProcessState.PROCESSING

    def unsettled(self) -> set[str]:
        """Return the names of the unsettled forward steps and of every step after them.

        If a skipped step is done again, steps after it that were settled without it count as
        unsettled, too.
        """
        steps = self.forward_steps
        names = {step.name for step in steps if step.state not in SETTLED_STEP_STATES}
        count = 0
        while count != len(names):
            count = len(names)
            names |= {step.name for step in steps if not names.isdisjoint(step.spec.after)}
        return names

    def ready_forward_steps(self) -> list[StepRow]:
        """Return the waiting forward steps whose earlier steps are all settled."""
        unsettled = self.unsettled()
        return [
            step
            for step in self.forward_steps
            if step.state == StepState.WAITING and unsettled.isdisjoint(step.spec.after)
        ]

    def note(
        self,
        event: str,
        actor: str,
        *,
        step: StepRow | None = None,
        before: str | None = None,
        after: str | None = None,
        attempt: int | None = None,
        public: bool = False,
        detail: dict[str, Any] | None = None,
    ) -> None:
        """Add a journal entry; a public one takes the process's next sequence number."""
        sequence = None
        if public:
            self.touch_process()
            self.process.sequence += 1
            sequence = self.process.sequence
        self.entries.append(
            Entry(
                process_id=self.process.id,
                step_id=step.id if step else None,
                event=event,
                actor=actor,
                before=before,
                after=after,
                attempt=attempt,
                sequence=sequence,
                detail={key: value for key, value in (detail or {}).items() if value is not None},
            )
        )

    def touch_process(self) -> None:
        """Mark the process to be written, provided its state is still as read."""
        if self.process_origin is None:
            self.process_origin = self.process.state

    def touch(self, step: StepRow) -> None:
        """Mark a step to be written, provided its claim is still as read."""
        if step.id not in self.step_origins:
            self.step_origins[step.id] = Origin(
                step.state,
                step.claim_id,
                step.started_at is not None,
                step.is_filed,
                step.is_deferred,
                step.agent,
            )

    def move_process(self, after: str, event: str, actor: str, **detail: Any) -> None:
        """Move the process to the state ``after`` and journal it."""
        before = self.process.state
        if not may_move_process(before, after):
            raise StateError(f"Process {self.process.id} is {before} and cannot become {after}.")
        self.touch_process()
        self.process.state = after
        if after == ProcessState.PROCESSING and self.process.started_at is None:
            self.process.started_at = self.now
        self.process.finished_at = self.now if after in FINAL_PROCESS_STATES else None
        if self.process.exclusive is not None and after in FINAL_PROCESS_STATES:
            self.freed_keys[self.process.exclusive] = ""
        self.note(event, actor, before=before, after=after, public=True, detail=detail)

    def move(
        self,
        step: StepRow,
        after: str,
        event: str,
        actor: str,
        *,
        public: bool = False,
        **detail: Any,
    ) -> None:
        """Move a step to the state ``after``, with a journal entry; end a claim that it leaves."""
        before = step.state
        if not may_move_step(before, after):
            raise StateError(f"Step {step.name} is {before} and cannot become {after}.")
        self.touch(step)
        attempt = step.attempt if StepState.PROCESSING in (before, after) else None
        if step.limit_key is not None and before in (StepState.PENDING, StepState.PROCESSING):
            # A pending one may leave a place that it was to take.
            self.freed_keys[step.limit_key] = step.agent
        if before == StepState.PROCESSING:
            detail = {"step": step.name, **_claim_facts(step), **detail}
            _end_claim(step)
        else:
            detail = {"step": step.name, **detail}
        step.state = after
        step.finished_at = self.now if after in CLOSED_STEP_STATES else None
        # Keep an early answer that came after the step was undone.
        if step.early is not None and after in CLOSED_STEP_STATES - {StepState.COMPENSATED}:
            self._end_early(step, actor)
        self.note(
            event,
            actor,
            step=step,
            before=before,
            after=after,
            attempt=attempt,
            public=public,
            detail=detail,
        )

    def _end_early(self, step: StepRow, actor: str) -> None:
        """Drop an early answer of a step that has ended, unless it proves how its call ended."""
        is_done = step.state == StepState.PROCESSED and not step.is_by_hand
        if is_done or not evidence.is_proved_early(step):
            self.drop_early(step, actor)
        elif step.state in SETTLED_STEP_STATES:
            evidence.happened_beside(step)
            self.alert("late_success", step, says=["beside"])
        else:
            # Its undo, or another call, will be given it.
            evidence.ended_well(step)

    def drop_early(self, step: StepRow, actor: str) -> None:
        """Journal that a step did not ask whoever answered early, and drop the answer."""
        answer, step.early = step.early or {}, None
        answer = {name: value for name, value in answer.items() if name != "is_persons"}
        detail = {"step": step.name, "answer": answer}
        self.note("nobody_asked", actor, step=step, attempt=step.attempt or None, detail=detail)

    def claim(self, step: StepRow, worker: str, delivery: UUID) -> None:
        """Claim a step for one attempt and start it: its worker calls the agent at once.

        ``delivery`` is that of the write: by it the worker finds what it started if the answer is
        lost.
        """
        before = step.state
        if not may_move_step(before, StepState.PROCESSING):
            raise StateError(f"Step {step.name} is {before} and cannot be claimed.")
        self.touch(step)
        if step.not_before is not None:
            # Waiting for room, for a breaker or for a pause to end does not count.
            step.leave_out(self.now - step.not_before)
        step.state = StepState.PROCESSING
        step.attempt += 1
        step.claim_id = uuid4()
        step.locked_by, step.delivery = worker, delivery
        step.started_at = self.now
        step.complete_by = self.now + timedelta(seconds=step.spec.timeout_seconds)
        step.began_at = step.began_at or self.now
        evidence.begin(step, self.now)
        if self.process.state == ProcessState.PENDING:
            self.move_process(ProcessState.PROCESSING, "started", worker)
        self.note(
            "claimed",
            worker,
            step=step,
            before=before,
            after=StepState.PROCESSING,
            attempt=step.attempt,
            detail={"step": step.name, "agent": step.agent},
        )

    def release(self, step: StepRow, event: str, actor: str, **facts: Any) -> bool:
        """Release a claim: the step is pending again.  False: cancelled; its process compensates.

        A compensating process retries no forward step; the step's undo finds out what it did.
        """
        is_tried_again = not self.is_given_up(step)
        after = StepState.PENDING if is_tried_again else StepState.CANCELLED
        self.move(step, after, event, actor, **facts)
        return is_tried_again

    def fail(
        self,
        step: StepRow,
        event: str,
        actor: str,
        fault: FaultRecord,
        rng: Random | None = None,
        *,
        is_last: bool = False,
    ) -> bool:
        """Count a failure: the step is pending after a backoff, or in error at the threshold.

        ``is_last``: in error whatever the threshold.
        Returns whether the step ended in error; the Scheduler then carries out what follows.
        The outcome of the call is unknown: the step stays in doubt.
        """
        self.touch(step)
        step.failure_count += 1
        evidence.ended_with(step, fault)
        step.fault = fault.noted(self.now)
        facts: dict[str, Any] = {
            "fault": _brief(fault),
            "failure_count": step.failure_count,
            "failure_threshold": step.failure_threshold,
        }
        if self.is_given_up(step):
            self.release(step, event, actor, **facts)
            return False
        backoff = Backoff(step.spec.backoff_base_seconds, step.spec.backoff_cap_seconds)
        delay = backoff.seconds(step.failure_count, rng)
        if fault.retry_after:
            delay = max(delay, fault.retry_after)
        if is_last or is_exhausted(step.failure_count, step.failure_threshold):
            self.move(step, StepState.ERROR, event, actor, public=True, **facts)
            return True
        if is_out_of_time(step.began_at, step.spec.total_seconds, self.now, delay):
            facts["reason"] = "total_exhausted"
            self.move(step, StepState.ERROR, event, actor, public=True, **facts)
            return True
        step.not_before = self.now + timedelta(seconds=delay)
        self.release(step, event, actor, **facts, not_before=text_of(step.not_before))
        return False

    def alert(
        self, code: str, step: StepRow | None = None, *, is_counted: bool = True, **params: Any
    ) -> None:
        """Raise an alert, once per process, step and code until it is acknowledged."""
        cause = f"{code}:process:{self.process.id}" + (f":{step.name}" if step else "")
        params = {"subject": self.process.subject, **params}
        if step is not None:
            params["step"] = step.name
        self.alerts.append(
            AlertCall(cause, code, params, self.process.id, step.id if step else None, is_counted)
        )


def _brief(fault: FaultRecord) -> dict[str, Any]:
    fields = ("kind", "code", "message", "tries")
    return {name: value for name in fields if (value := getattr(fault, name))}


def _claim_facts(step: StepRow) -> dict[str, Any]:
    """Return what the journal keeps of a claim when its row drops it."""
    return {
        "agent": step.agent,
        "locked_by": step.locked_by,
        # A claim is a start; readers of older rows tell them apart.
        "claimed_at": text_of(step.started_at) if step.started_at else None,
        "started_at": text_of(step.started_at) if step.started_at else None,
        "complete_by": text_of(step.complete_by) if step.complete_by else None,
    }


def _end_claim(step: StepRow) -> None:
    step.claim_id = step.locked_by = None
    step.started_at = step.complete_by = step.delivery = None
    step.deferral = step.escalate_at = None
    step.is_filed = False
