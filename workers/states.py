"""The states of processes and steps, and the legal moves between them.

A process:

    pending ──first step begun──▶ processing ──all steps settled──▶ processed
       │                            │    ▲ ▲
       │                            │    │ └──resubmitted── error ◀──an undo is stuck──┐
       │                            ├──a step past its policy───▲                      │
       │                            │    │                      │                      │
       └──cancelled, refused────────┴────┼──────────────────────┴──▶ compensating ─────┤
                                         │                             │  ▲──resubmitted
                                         └──begins again from a step───┤
                                                                       ▼
                                                            compensated, cancelled

A step:

    waiting ──predecessors settled──▶ pending ──claimed──▶ processing ──reply──▶ processed
       │                                 │ ▲                   │                    │
       │                                 │ ├──reset, parked────┤                    │
       │                                 │ │                   │                    │
       │                                 │ ├──resubmitted── error◀──past its policy   │
       │                                 │ │                  └──optional──▶ skipped  │
       │                                 ▼                     │                    │
       └──process compensates──────▶ cancelled ────────────────┴──undone──▶ compensated

A step whose predecessors settle while its agent has room goes from waiting to processing
in one statement; the table therefore allows that move.  Undo steps are steps like any
other; the step whose effect they undo becomes ``compensated``.  Not drawn:

- a late answer, from a callback or an operator, ends a step that is pending or in error
- a step in doubt that must not be called again goes from pending to error
- a process that begins again from an earlier step takes that step and its successors back to
  waiting
- a skipped step that is done again goes back to pending, a processed process to processing, and
  successors that have not begun to waiting
- if a success comes after its undo, the undo goes back to pending and the process to compensating
- a processed child goes to compensating when the step of its parent is undone
"""

from datetime import UTC, datetime

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

#: Prefix of actors that are people, in the journal.
PEOPLE = "operator:"


class ProcessState(TextChoices):
    """The state of a process, one run of a workflow."""

    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    ERROR = "error"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"
    CANCELLED = "cancelled"


class StepState(TextChoices):
    """The state of a step, one unit of a process."""

    WAITING = "waiting"
    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    ERROR = "error"
    SKIPPED = "skipped"
    COMPENSATED = "compensated"
    CANCELLED = "cancelled"


class ChildState(TextChoices):
    """The state of a child in its group; its process has a state of its own."""

    #: Not born yet.
    QUEUED = "queued"
    #: Its process is under way.
    OPEN = "open"
    #: Its process has ended, which the group has not counted yet.
    ENDED = "ended"
    COUNTED = "counted"


class UndoRequestState(TextChoices):
    """The state of a request for approval."""

    WAITING = "waiting", _("waits for a second person")
    APPROVED = "approved", _("approved")
    DECLINED = "declined", _("declined")


class BreakerState(TextChoices):
    """The state of an agent's breaker, best first; an operator has set a forced one."""

    CLOSED = "closed", _("closed")
    FORCED_CLOSED = "forced_closed", _("forced closed")
    HALF_OPEN = "half_open", _("half open")
    FORCED_OPEN = "forced_open", _("forced open")
    OPEN = "open", _("open")


PROCESS_MOVES: frozenset[tuple[str, str]] = frozenset(
    {
        (ProcessState.PENDING, ProcessState.PROCESSING),
        (ProcessState.PROCESSING, ProcessState.PROCESSED),
        (ProcessState.PROCESSING, ProcessState.ERROR),
        (ProcessState.ERROR, ProcessState.PROCESSING),
        (ProcessState.PENDING, ProcessState.COMPENSATING),
        (ProcessState.PROCESSING, ProcessState.COMPENSATING),
        (ProcessState.ERROR, ProcessState.COMPENSATING),
        (ProcessState.COMPENSATING, ProcessState.COMPENSATED),
        (ProcessState.COMPENSATING, ProcessState.CANCELLED),
        (ProcessState.COMPENSATING, ProcessState.ERROR),
        (ProcessState.COMPENSATING, ProcessState.PROCESSING),
        # A skipped step of it is done again.
        (ProcessState.PROCESSED, ProcessState.PROCESSING),
        # A child is undone with the step of its parent.
        (ProcessState.PROCESSED, ProcessState.COMPENSATING),
        # A success came after the undo: undone once more.
        (ProcessState.COMPENSATED, ProcessState.COMPENSATING),
        (ProcessState.CANCELLED, ProcessState.COMPENSATING),
    }
)

STEP_MOVES: frozenset[tuple[str, str]] = frozenset(
    {
        (StepState.WAITING, StepState.PENDING),
        (StepState.WAITING, StepState.PROCESSING),
        (StepState.WAITING, StepState.SKIPPED),
        (StepState.WAITING, StepState.ERROR),
        (StepState.PENDING, StepState.PROCESSING),
        (StepState.PENDING, StepState.PROCESSED),
        (StepState.PENDING, StepState.ERROR),
        (StepState.PENDING, StepState.SKIPPED),
        (StepState.PROCESSING, StepState.PROCESSED),
        (StepState.PROCESSING, StepState.PENDING),
        (StepState.PROCESSING, StepState.ERROR),
        (StepState.PROCESSING, StepState.SKIPPED),
        (StepState.ERROR, StepState.PENDING),
        (StepState.ERROR, StepState.PROCESSED),
        (StepState.ERROR, StepState.SKIPPED),
        # An undo that is called once more; a skipped step that is done again.
        (StepState.PROCESSED, StepState.PENDING),
        (StepState.SKIPPED, StepState.PENDING),
        # A successor that has not begun waits again for a skipped step that is done again.
        (StepState.PENDING, StepState.WAITING),
        (StepState.WAITING, StepState.CANCELLED),
        (StepState.PENDING, StepState.CANCELLED),
        (StepState.PROCESSING, StepState.CANCELLED),
        (StepState.PROCESSED, StepState.COMPENSATED),
        (StepState.ERROR, StepState.COMPENSATED),
        (StepState.CANCELLED, StepState.COMPENSATED),
        (StepState.SKIPPED, StepState.COMPENSATED),
        (StepState.PROCESSED, StepState.WAITING),
        (StepState.ERROR, StepState.WAITING),
        (StepState.SKIPPED, StepState.WAITING),
        (StepState.COMPENSATED, StepState.WAITING),
        (StepState.CANCELLED, StepState.WAITING),
    }
)

FINAL_PROCESS_STATES = frozenset(
    {ProcessState.PROCESSED, ProcessState.COMPENSATED, ProcessState.CANCELLED}
)
#: A process that has ended does nothing more by itself; from error an operator may bring it back.
ENDED_PROCESS_STATES = FINAL_PROCESS_STATES | {ProcessState.ERROR}
#: A live step is one that must be found: to claim it, to take it back, or to fix it.
LIVE_STEP_STATES = (StepState.PENDING, StepState.PROCESSING, StepState.ERROR)
#: State of a live row only: its pending step waits for a place in a key.
BLOCKED = "blocked"
#: The complete-by of a step that waits for its children: they have times of their own.
NEVER = datetime(9999, 1, 1, tzinfo=UTC)
#: A settled step lets its successors begin.
SETTLED_STEP_STATES = frozenset({StepState.PROCESSED, StepState.SKIPPED})
#: A closed step does nothing more by itself.
CLOSED_STEP_STATES = SETTLED_STEP_STATES | {
    StepState.ERROR,
    StepState.COMPENSATED,
    StepState.CANCELLED,
}
FORWARD_PROCESS_STATES = frozenset({ProcessState.PENDING, ProcessState.PROCESSING})
#: States in which steps may be claimed.
OPEN_PROCESS_STATES = FORWARD_PROCESS_STATES | {ProcessState.COMPENSATING}
#: Final states of a process that was not processed.
UNDONE_PROCESS_STATES = FINAL_PROCESS_STATES - {ProcessState.PROCESSED}


def may_move_process(before: str, after: str) -> bool:
    """Say whether a process may go from ``before`` to ``after``."""
    return (before, after) in PROCESS_MOVES


def may_move_step(before: str, after: str) -> bool:
    """Say whether a step may go from ``before`` to ``after``."""
    return (before, after) in STEP_MOVES
