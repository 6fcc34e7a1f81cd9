"""Overdue answers: who may give them, and what becomes of a step that gets none.  Pure."""

from typing import Any, Protocol

from msgspec import structs

from workers.protocol.faults import FaultRecord
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess

#: The fault of a step whose answer did not come in time.
UNANSWERED = FaultRecord("expired", "unanswered", "no answer by its deadline")
#: The permission to answer a question that names no other.
ANSWER_STEP = "workers.answer_step"


class MayAsk(Protocol):
    """A step, as a row of the store or of a page."""

    @property
    def deferral(self) -> dict[str, Any] | None: ...

    @property
    def fault(self) -> Any: ...


def unanswered(step: MayAsk) -> FaultRecord:
    """Return the fault of a step whose answer did not come; it keeps who may still answer."""
    permission = permission_to_answer(step)
    return structs.replace(UNANSWERED, permission=permission) if permission else UNANSWERED


def permission_to_answer(step: MayAsk) -> str:
    """Return the permission that a person needs to answer a step; empty: it asks no one.

    Acts that replace an answer need it, too: ending the step by hand is a decision as well.
    """
    if step.deferral is not None:
        asks = step.deferral.get("question") or step.deferral.get("permission")
        return (step.deferral.get("permission") or ANSWER_STEP) if asks else ""
    fault = step.fault if isinstance(step.fault, FaultRecord) else FaultRecord.from_json(step.fault)
    return (fault.permission or "") if fault is not None else ""


def escalate(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Alert operators that an answer is overdue, once."""
    locked.touch(step)
    step.escalate_at = None
    locked.note("escalated", actor, step=step, attempt=step.attempt, detail={"step": step.name})
    question = (step.deferral or {}).get("question") or ""
    locked.alert("answer_overdue", step, question=question)
