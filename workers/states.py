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
other; ``compensated`` is where the step goes whose effect they undid.  Not drawn: whoever
answers late (a callback, an operator) ends a step that is pending or in error; a step whose
outcome nobody may find out by calling again goes from pending to error; a process that
begins again from an earlier step takes that step and those after it back to waiting; a skipped step
that is done again goes back to pending, its process, where it was processed, to processing, and
what comes after it and has not begun to waiting; and where a success comes after its undo, the undo
goes back to pending and the process to compensating.
"""

from django.db.models import IntegerChoices, TextChoices
from django.utils.translation import gettext_lazy as _

#: What the actor of everything that people do begins with, in the journal.
PEOPLE = "operator:"


class ProcessState(TextChoices):
    """Where a process, one run of a workflow, stands."""

    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    ERROR = "error"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"
    CANCELLED = "cancelled"


class StepState(TextChoices):
    """Where a step, one unit of a process, stands."""

    WAITING = "waiting"
    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    ERROR = "error"
    SKIPPED = "skipped"
    COMPENSATED = "compensated"
    CANCELLED = "cancelled"


class DeliveryEvent(TextChoices):
    """What a route is told of an incident."""

    OPENED = "opened", _("opened")
    REPEAT = "repeat", _("repeated")
    #: For services that keep incidents of their own.
    ACKNOWLEDGED = "acknowledged", _("taken")
    RESOLVED = "resolved", _("resolved")
    DIGEST = "digest", _("digest")
    TEST = "test", _("test")


class DeliveryState(TextChoices):
    """Where a delivery, one thing that a route is told, stands."""

    DUE = "due", _("due")
    DELIVERED = "delivered", _("delivered")
    FAILED = "failed", _("given up")
    #: Told by a digest, which is a delivery of its own.
    GATHERED = "gathered", _("in a digest")


class JobState(TextChoices):
    """Where a job stands."""

    #: Its set is being written: nothing is acted on yet.
    PLANNED = "planned", _("planned")
    RUNNING = "running", _("running")
    PAUSED = "paused", _("paused")
    #: Ended by an operator before every item was worked through.
    STOPPED = "stopped", _("stopped")
    DONE = "done", _("done")


class ItemState(TextChoices):
    """What a job has done to one process."""

    WAITING = "waiting", _("not worked yet")
    LANDED = "landed", _("changed")
    REFUSED = "refused", _("refused")


class UndoRequestState(TextChoices):
    """Where a request for approval stands."""

    WAITING = "waiting", _("waits for a second person")
    APPROVED = "approved", _("approved")
    DECLINED = "declined", _("declined")


class IncidentState(TextChoices):
    """Where an incident, one cause that operators deal with, stands."""

    OPEN = "open", _("open")
    ACKNOWLEDGED = "acknowledged", _("taken")
    SNOOZED = "snoozed", _("snoozed")
    RESOLVED = "resolved", _("resolved")


class BreakerState(TextChoices):
    """Where the breaker of an agent stands, the better first; what is forced is an operator's."""

    CLOSED = "closed", _("closed")
    FORCED_CLOSED = "forced_closed", _("forced closed")
    HALF_OPEN = "half_open", _("half open")
    FORCED_OPEN = "forced_open", _("forced open")
    OPEN = "open", _("open")


class Span(IntegerChoices):
    """How many seconds a row of figures stands for."""

    EVER = 0, _("all time")
    MINUTE = 60, _("minute")
    TEN_MINUTES = 600, _("ten minutes")
    HOUR = 3600, _("hour")


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
        # A success came after it was undone: undone once more.
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
        # An undo that is asked once more; and what was skipped, done again.
        (StepState.PROCESSED, StepState.PENDING),
        (StepState.SKIPPED, StepState.PENDING),
        # What has not begun waits again for a skipped step that is done again.
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
#: A live step is one that somebody may have to look for: to claim it, to take it back, to help it.
LIVE_STEP_STATES = (StepState.PENDING, StepState.PROCESSING, StepState.ERROR)
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
