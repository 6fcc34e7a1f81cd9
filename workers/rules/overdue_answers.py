"""Answers that do not come: who could give them, and what becomes of a step without.  Pure."""

from typing import Any, Protocol

from msgspec import structs

from workers.protocol.faults import FaultRecord
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess

#: A step whose answer did not come in its time.
UNANSWERED = FaultRecord("expired", "unanswered", "no answer by its deadline")
#: The permission to answer a question that names none of its own.
ANSWER_STEP = "workers.answer_step"


class MayAsk(Protocol):
    """A step as the store or a page has it."""

    @property
    def deferral(self) -> dict[str, Any] | None: ...

    @property
    def fault(self) -> Any: ...


def unanswered(step: MayAsk) -> FaultRecord:
    """Return the fault of a step whose answer did not come; who may give it stays known."""
    permission = permission_to_answer(step)
    return structs.replace(UNANSWERED, permission=permission) if permission else UNANSWERED


def permission_to_answer(step: MayAsk) -> str:
    """Return the permission that a person needs to answer a step; empty: it asks no person.

    Whatever stands for an answer needs it, too: to end the step by hand is to decide.
    """
    if step.deferral is not None:
        asks = step.deferral.get("question") or step.deferral.get("permission")
        return (step.deferral.get("permission") or ANSWER_STEP) if asks else ""
    fault = step.fault if isinstance(step.fault, FaultRecord) else FaultRecord.from_json(step.fault)
    return (fault.permission or "") if fault is not None else ""


def escalate(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Tell an operator that an answer is overdue, once."""
    locked.touch(step)
    step.escalate_at = None
    locked.note("escalated", actor, step=step, attempt=step.attempt, detail={"step": step.name})
    question = (step.deferral or {}).get("question") or ""
    locked.alert("answer_overdue", step, question=question)
