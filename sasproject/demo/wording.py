"""One order in a line of the board: words first, colour second."""

from collections.abc import Collection
from dataclasses import dataclass

from workers.client.progress import ProcessProgress, StepProgress
from workers.states import FINAL_PROCESS_STATES, ProcessState

#: Short names of steps and of those that undo them; others are shown by their own.
STEPS = {
    "reserve_stock": "stock",
    "review": "review",
    "charge_payment": "payment",
    "book_shipment": "parcel",
    "issue_invoice": "bill",
    "send_confirmation": "mail",
    "release_stock": "restock",
    "refund_payment": "refund",
    "cancel_shipment": "unbook",
    "void_invoice": "void",
}
#: The worst comes first: of several troubles one is named.
TROUBLES = {
    "expired": "EXPIRED",
    "failed": "FAILED",
    # A claim was; its order is not.
    "lost": "SENT AGAIN",
    "parked": "PARKED",
    "fell_back": "FELL BACK",
    "handed_back": "HANDED BACK",
    "stale_reply": "LATE ANSWER",
}
FAULTS = {"expired": "EXPIRED", "unavailable": "PARKED", "permanent": "REFUSED"}


@dataclass(frozen=True, slots=True)
class Said:
    """A text and what it is: quiet, busy, good, warning or bad."""

    text: str
    tone: str = "quiet"


def step_name(name: str) -> str:
    return STEPS.get(name, name)


def cell(step: StepProgress) -> Said:
    """Say how a step stands, in a word of six letters at most: six of them share 80 columns."""
    match step.state:
        case "processed":
            return Said("done", "good")
        case "error":
            return Said("ERROR", "bad")
        case "skipped" if step.fault is None:
            return Said("-")
        case "skipped":
            return Said("skip", "warning")
        case "waiting" | "cancelled":
            return Said("-")
        case "compensated":
            return Said("undone", "warning")
        case "pending" if step.fault:
            return Said("retry", "warning")
        case "pending":
            return Said("next")
        case "processing" if step.is_deferred:
            return Said("asks", "warning")
        case "processing" if step.started_at is None:
            return Said("sent", "busy")
        case "processing":
            return Said("again" if step.fault else "busy", "warning" if step.fault else "busy")
    return Said(step.state, "busy")


def order(process: ProcessProgress, troubles: Collection[str]) -> Said:
    """Say where an order is, and what happened to it on the way."""
    trouble = next((TROUBLES[event] for event in TROUBLES if event in troubles), "")
    if process.state in FINAL_PROCESS_STATES:
        word = "DONE" if process.state == "processed" else process.state.upper()
        return Said(f"{trouble} → RECOVERED, {word}" if trouble else word, "good")
    current = process.current
    if process.state == "error":
        return Said(f"ERROR {step_name(current.name) if current else ''}, operator told", "bad")
    if current is None:
        return Said("waiting for the Scheduler")
    says = _under_way(current)
    if process.state == ProcessState.COMPENSATING:
        return Said(f"UNDOING: {says.text}", "warning")
    return says


def _under_way(step: StepProgress) -> Said:
    name = step_name(step.name)
    fault = FAULTS.get((step.fault or {}).get("kind", ""), "FAILED") if step.fault else ""
    if step.state == "pending":
        if fault:
            when = f"in {step.retry_seconds:.0f} s" if step.retry_seconds else "now"
            return Said(f"{fault} → RETRY {name} {when}", "warning")
        return Said(f"{name}, waiting its turn")
    if step.started_at is None:
        return Said(f"{name}, sent to a worker")
    if step.is_deferred:
        return Said(f"{name}: waits for a person", "warning")
    left = step.remaining_seconds or 0.0
    if left <= 0:
        return Said(f"EXPIRED {name}, Supervisor next", "warning")
    says = f"{name}, {left:.0f} s left"
    if fault:
        return Said(f"{fault} → AGAIN {says}", "warning")
    return Said(says, "busy")
