"""The states of processes and steps, and the legal moves between them.

A process:

    pending ──first step begun──▶ processing ──all steps settled──▶ processed
       │                           │      ▲
       │                           │      └──resubmitted── error
       └──────a step failed────────┴──past its policy──────▲

A step:

    waiting ──predecessors settled──▶ pending ──claimed──▶ processing ──reply──▶ processed
                                         ▲                     │
                                         ├──reset, parked──────┤
                                         │                     ├──optional──▶ skipped
                                         └──resubmitted── error◀──past its policy

A step whose predecessors settle while its agent has room goes from waiting to processing
in one statement; the table therefore allows that move.
"""

from django.db.models import TextChoices


class ProcessState(TextChoices):
    """Where a process, one run of a workflow, stands."""

    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    ERROR = "error"


class StepState(TextChoices):
    """Where a step, one unit of a process, stands."""

    WAITING = "waiting"
    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    ERROR = "error"
    SKIPPED = "skipped"


PROCESS_MOVES: frozenset[tuple[str, str]] = frozenset(
    {
        (ProcessState.PENDING, ProcessState.PROCESSING),
        (ProcessState.PENDING, ProcessState.ERROR),
        (ProcessState.PROCESSING, ProcessState.PROCESSED),
        (ProcessState.PROCESSING, ProcessState.ERROR),
        (ProcessState.ERROR, ProcessState.PROCESSING),
    }
)

STEP_MOVES: frozenset[tuple[str, str]] = frozenset(
    {
        (StepState.WAITING, StepState.PENDING),
        (StepState.WAITING, StepState.PROCESSING),
        (StepState.WAITING, StepState.SKIPPED),
        (StepState.PENDING, StepState.PROCESSING),
        (StepState.PROCESSING, StepState.PROCESSED),
        (StepState.PROCESSING, StepState.PENDING),
        (StepState.PROCESSING, StepState.ERROR),
        (StepState.PROCESSING, StepState.SKIPPED),
        (StepState.ERROR, StepState.PENDING),
        (StepState.ERROR, StepState.SKIPPED),
    }
)

FINAL_PROCESS_STATES = frozenset({ProcessState.PROCESSED})
FINAL_STEP_STATES = frozenset({StepState.PROCESSED, StepState.SKIPPED})
# A settled step lets its successors begin.
SETTLED_STEP_STATES = FINAL_STEP_STATES
OPEN_PROCESS_STATES = frozenset({ProcessState.PENDING, ProcessState.PROCESSING})


def may_move_process(before: str, after: str) -> bool:
    """Say whether a process may go from ``before`` to ``after``."""
    return (before, after) in PROCESS_MOVES


def may_move_step(before: str, after: str) -> bool:
    """Say whether a step may go from ``before`` to ``after``."""
    return (before, after) in STEP_MOVES
