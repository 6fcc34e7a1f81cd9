"""The words of the board's cells and rows, each with its tone."""

from collections.abc import Collection
from dataclasses import dataclass

from workers.client.progress import ProcessProgress, StepProgress
from workers.states import FINAL_PROCESS_STATES, ProcessState

#: Short names of steps and undo steps; others keep their own names.
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
#: The worst first: only one trouble is shown.
TROUBLES = {
    "expired": "EXPIRED",
    "failed": "FAILED",
    # The claim was lost, not the order.
    "lost": "SENT AGAIN",
    "parked": "PARKED",
    "fell_back": "FELL BACK",
    "handed_back": "HANDED BACK",
    "stale_reply": "LATE ANSWER",
}
FAULTS = {"expired": "EXPIRED", "unavailable": "PARKED", "permanent": "REFUSED"}


@dataclass(frozen=True, slots=True)
class TonedText:
    """A text and its tone: quiet, busy, good, warning or bad."""

    text: str
    tone: str = "quiet"


def step_name(name: str) -> str:
    return STEPS.get(name, name)


def cell(step: StepProgress) -> TonedText:
    """Return a step's state in a word of at most six letters: six of them share 80 columns."""
    match step.state:
        case "processed":
            return TonedText("done", "good")
        case "error":
            return TonedText("ERROR", "bad")
        case "skipped" if step.fault is None:
            return TonedText("-")
        case "skipped":
            return TonedText("skip", "warning")
        case "waiting" | "cancelled":
            return TonedText("-")
        case "compensated":
            return TonedText("undone", "warning")
        case "pending" if step.fault:
            return TonedText("retry", "warning")
        case "pending":
            return TonedText("next")
        case "processing" if step.is_deferred:
            return TonedText("asks", "warning")
        case "processing" if step.started_at is None:
            return TonedText("sent", "busy")
        case "processing":
            return TonedText("again" if step.fault else "busy", "warning" if step.fault else "busy")
    return TonedText(step.state, "busy")


def order(process: ProcessProgress, troubles: Collection[str]) -> TonedText:
    """Return an order's current step, and the worst trouble that it met."""
    trouble = next((TROUBLES[event] for event in TROUBLES if event in troubles), "")
    if process.state in FINAL_PROCESS_STATES:
        word = "DONE" if process.state == "processed" else process.state.upper()
        return TonedText(f"{trouble} → RECOVERED, {word}" if trouble else word, "good")
    current = process.current
    if process.state == "error":
        return TonedText(
            f"ERROR {step_name(current.name) if current else ''}, operator told", "bad"
        )
    if current is None:
        return TonedText("waiting for the Scheduler")
    says = _current_step(current)
    if process.state == ProcessState.COMPENSATING:
        return TonedText(f"UNDOING: {says.text}", "warning")
    return says


def _current_step(step: StepProgress) -> TonedText:
    name = step_name(step.name)
    fault = FAULTS.get((step.fault or {}).get("kind", ""), "FAILED") if step.fault else ""
    if step.state == "pending":
        if fault:
            when = f"in {step.retry_seconds:.0f} s" if step.retry_seconds else "now"
            return TonedText(f"{fault} → RETRY {name} {when}", "warning")
        return TonedText(f"{name}, waiting its turn")
    if step.started_at is None:
        return TonedText(f"{name}, sent to a worker")
    if step.is_deferred:
        return TonedText(f"{name}: waits for a person", "warning")
    left = step.remaining_seconds or 0.0
    if left <= 0:
        return TonedText(f"EXPIRED {name}, Supervisor next", "warning")
    says = f"{name}, {left:.0f} s left"
    if fault:
        return TonedText(f"{fault} → AGAIN {says}", "warning")
    return TonedText(says, "busy")
