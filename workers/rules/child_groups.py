"""Decide on a child group: what its items must be, how many are born, and how its step ends.  Pure.

A child has failed when its process has ended compensated or cancelled.  One in error has not ended:
it keeps its place and waits for an operator, as everything in error does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workers.definitions.children import DEEPEST, MOST_CHILDREN, MOST_ITEM_BYTES
from workers.protocol.faults import FaultRecord
from workers.rules import compensation, new_processes
from workers.rules.transitions import LockedProcess
from workers.runtime.json_text import encode_document
from workers.states import UNDONE_PROCESS_STATES, ProcessState

#: The fault codes of a step whose items cannot be had, and of which too many children failed.
UNUSABLE = "children_unusable"
FAILED = "children_failed"
#: The outcome of a processed child that is past its point of no return when it is to be undone.
LASTING = "lasting"
#: Outcomes that count as processed; every other one is a failure.
PROCESSED_OUTCOMES = frozenset({str(ProcessState.PROCESSED), LASTING})


@dataclass(slots=True)
class GroupRow:
    """A child group as the store reads it under its lock."""

    id: int
    step_id: int
    key: str
    workflow: str
    at_once: int
    tolerate: float
    total: int | None
    expanded_to: int
    born_to: int
    processed: int
    failed: int
    stopped: bool
    is_undoing: bool
    is_paused: bool

    @property
    def is_expanded(self) -> bool:
        """Say whether every child has a row."""
        return self.total is not None and self.expanded_to == self.total

    @property
    def has_failed(self) -> bool:
        """Say whether more children have failed than may."""
        # Rounded: 0.29 of 100 is a little less than 29.
        return self.failed > round(self.tolerate * (self.total or 0), 6)

    def births(self, under_way: int, *, is_paused: bool) -> int:
        """Return how many more may be born; ``under_way`` are born and not counted."""
        if self.stopped or is_paused or self.has_failed:
            return 0
        return max(0, self.at_once - under_way)

    def is_over(self, under_way: int) -> bool:
        """Say whether the step can end: none is under way, and no more are born."""
        if self.stopped or not self.is_expanded or under_way:
            return False
        return self.has_failed or self.processed + self.failed == self.total

    def result(self) -> dict[str, Any]:
        """Return the result of a step whose children have all been counted."""
        counts = {"total": self.total, "processed": self.processed, "failed": self.failed}
        return {"group": self.id, **counts}

    def fault(self) -> FaultRecord | None:
        """Return the fault of a step of whose children too many have failed."""
        if not self.has_failed:
            return None
        return FaultRecord(
            "permanent",
            FAILED,
            f"{self.failed} of {self.total} children were not processed, and"
            f" {int(round(self.tolerate * (self.total or 0), 6))} may fail",
        )


def too_deep(depth: int) -> FaultRecord | None:
    """Return the fault of a step whose children are too many levels down."""
    if depth <= DEEPEST:
        return None
    message = f"children must be at most {DEEPEST} levels deep, got {depth}"
    return FaultRecord("permanent", UNUSABLE, message, no_effect=True)


def check_items(items: object, before: int | None) -> Sequence[dict[str, Any]]:
    """Return what ``over`` returned; raise ``TypeError`` or ``ValueError`` unless it is usable.

    ``before`` is how many there were, if it was asked before.
    """
    if not isinstance(items, list | tuple):
        raise TypeError(f"over must return a list of dicts, got {type(items).__name__}")
    if len(items) > MOST_CHILDREN:
        raise ValueError(
            f"over must return at most {MOST_CHILDREN} items, got {len(items)}. Put several into"
            " one item, or children into children."
        )
    if before is not None and len(items) != before:
        raise ValueError(f"over must return the same list again: {before} items, got {len(items)}")
    for index, item in enumerate(items):
        try:
            new_processes.check_input(item)
        except (TypeError, ValueError) as error:
            raise type(error)(f"item {index} of over: {error}") from None
        if (size := len(encode_document(item).encode())) > MOST_ITEM_BYTES:
            raise ValueError(
                f"item {index} of over must have {MOST_ITEM_BYTES} bytes at most, got {size}."
                " Keep it elsewhere, and say where."
            )
    return items


def undo(locked: LockedProcess, actor: str) -> bool:
    """Have a child undone with the step of its parent.  False: it is processed, for good."""
    state = locked.process.state
    if locked.is_being_undone or state in UNDONE_PROCESS_STATES:
        return True
    is_processed = state == ProcessState.PROCESSED
    if compensation.is_past_no_return(locked):
        # One that is still under way runs to its end.
        return not is_processed
    outcome = ProcessState.COMPENSATED if is_processed else ProcessState.CANCELLED
    compensation.begin(
        locked, outcome, actor, "its parent is undone", even_if_processed=is_processed
    )
    return True
