"""Rows of the state store in memory, and the new rows to write with them.  Pure values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from workers.protocol.faults import FaultRecord
from workers.specs import SpecRow
from workers.states import StepState

#: What becomes of a submission whose key is taken.
OnConflict = Literal["return", "refuse", "replace"]
#: How long a key is taken; None: for ever.
KeyFor = timedelta | Literal["until ended"] | None


@dataclass(slots=True)
class ProcessRow:
    id: int
    state: str
    subject: str
    outcome: str | None = None
    workflow: str = ""
    version: int = 1
    no_return: Sequence[str] = ()
    sequence: int = 0
    needs_decision: bool = False
    turn: datetime | None = None
    paused_at: datetime | None = None
    deadline_at: datetime | None = None
    on_deadline: str = "compensate"
    #: Steps that begin again once they are undone.
    renews: list[str] = field(default_factory=list)
    started_at: datetime | None = None
    finished_at: datetime | None = None
    erased_at: datetime | None = None
    #: Whether the transaction that ends it calls its workflow's ``on_end``.
    has_on_end: bool = False
    #: The child group that it was born in.
    group_id: int | None = None
    #: Whether a submitter wants to be told about it.
    is_told: bool = False
    #: The values by which its agents are limited, by attribute; None: none is.
    limit_values: dict[str, str] | None = None
    #: The key of which one process may run at a time; None: any number may.
    exclusive: str | None = None


@dataclass(slots=True)
class StepRow:
    id: int
    process_id: int
    name: str
    state: str
    agent: str
    undoes_id: int | None = None
    spec: SpecRow = field(default_factory=SpecRow)
    failure_threshold: int = 3
    claim_id: UUID | None = None
    locked_by: str | None = None
    started_at: datetime | None = None
    complete_by: datetime | None = None
    delivery: UUID | None = None
    #: Whether a reply is filed on the row; the reply itself is not read.
    is_filed: bool = False
    deferral: dict[str, Any] | None = None
    escalate_at: datetime | None = None
    early: dict[str, Any] | None = None
    attempt: int = 0
    failure_count: int = 0
    unavailable_count: int = 0
    not_before: datetime | None = None
    began_at: datetime | None = None
    key_used_at: datetime | None = None
    idempotency_key: str = ""
    may_have_effect: bool = False
    is_in_doubt: bool = False
    is_by_hand: bool = False
    result: dict[str, Any] | None = None
    fault: FaultRecord | None = None
    finished_at: datetime | None = None
    #: The key in which its calls need a place; None: they need none.
    limit_key: str | None = None

    @property
    def is_deferred(self) -> bool:
        """Say whether the step waits for a callback while no worker is busy with it."""
        return self.deferral is not None

    @property
    def is_at_work(self) -> bool:
        """Say whether an agent may be at work on the step now."""
        return (
            self.state == StepState.PROCESSING
            and self.started_at is not None
            and not self.is_deferred
        )

    @property
    def generation(self) -> int:
        """Return the number of the step's current use: undoing its effect begins a new one."""
        last = self.idempotency_key.rpartition(":")[2]
        return int(last) if last.isdecimal() else 1

    @property
    def has_undo(self) -> bool:
        """Say whether an agent can undo what the step does."""
        return self.spec.undo is not None and bool(self.spec.undo["agent"])

    def begin_generation(self) -> None:
        """Give the step a new idempotency key, which no call has used yet."""
        stem = self.idempotency_key.rpartition(":")[0] or self.idempotency_key
        self.idempotency_key = f"{stem}:{self.generation + 1}"
        self.key_used_at = self.early = None
        self.is_by_hand = False

    def give_attempts_back(self) -> None:
        """Reset the counts of failures and the total time."""
        self.failure_count = self.unavailable_count = 0
        self.began_at = None

    def leave_out(self, time: timedelta) -> None:
        """Exclude a time that was neither an attempt nor a backoff from the step's total time."""
        if self.began_at is not None:
            self.began_at += max(time, timedelta(0))


@dataclass(frozen=True, slots=True)
class Origin:
    """A step row's values when it was read: the condition of its write."""

    state: str
    claim_id: UUID | None
    is_started: bool
    is_filed: bool
    is_deferred: bool
    agent: str


@dataclass(frozen=True, slots=True)
class PlannedUndo:
    """An undo step to create, and for which step."""

    forward: StepRow
    name: str
    agent: str
    spec: SpecRow


@dataclass(slots=True)
class Entry:
    """A journal row to write."""

    #: None: the row is about an agent, or about the whole system.
    process_id: int | None
    event: str
    actor: str
    step_id: int | None = None
    before: str | None = None
    after: str | None = None
    attempt: int | None = None
    sequence: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewSink:
    """Where a submitter is notified: a reply queue's name, or a webhook's URL."""

    #: queue or webhook
    kind: str
    address: str
    #: The submitter it belongs to: names the secret that webhooks are signed with.
    owner: str = ""
    correlation_id: str = ""


@dataclass(frozen=True, slots=True)
class NewProcess:
    """A requested run of a workflow."""

    #: What the process is about, in the words of the submitting app.
    subject: str
    #: JSON: the snapshot that agents work with.
    input: dict[str, Any]
    lane: str = ""
    priority: int = 0
    deadline_at: datetime | None = None
    told: Sequence[NewSink] = ()
    #: The submitter's own key: twins of one key are one process.
    submission_key: str | None = None
    #: What becomes of it while its key is taken, and how long it takes the key (``submit``).
    on_conflict: OnConflict = "return"
    key_for: KeyFor = "until ended"
    #: What it is found by: values of the types that its workflow declares, by name.
    attributes: Mapping[str, object] | None = None
    #: The child group that it is born in.
    group_id: int | None = None


@dataclass(slots=True)
class AlertCall:
    """An alert to raise: one per ``cause`` until an operator acknowledges it."""

    cause: str
    code: str
    #: JSON: the parameters of its text, which is made when it is read.
    params: dict[str, Any]
    process_id: int | None = None
    step_id: int | None = None
    #: Whether raising it again increments its count.
    is_counted: bool = True
