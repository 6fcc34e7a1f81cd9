"""The buyer's texts about an order: steps, states and faults in plain words.

The engine's texts are for operators and never shown to a buyer; an unknown step or fault gets a
general text.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.states import ProcessState, StepState

Text = str | Promise


class StepWording(NamedTuple):
    """What a step does, worded for the middle of a sentence; who does it, for the beginning."""

    doing: Text
    service: Text

    @property
    def label(self) -> str:
        return capfirst(str(self.doing))


STEPS: dict[str, StepWording] = {
    "reserve_stock": StepWording(lazy("reserving your items"), lazy("The stock room")),
    "review": StepWording(lazy("looking over a large order"), lazy("Our team")),
    "charge_payment": StepWording(lazy("taking your payment"), lazy("The payment service")),
    "book_shipment": StepWording(lazy("booking the delivery"), lazy("The delivery service")),
    "issue_invoice": StepWording(lazy("writing your invoice"), lazy("The invoice service")),
    "send_confirmation": StepWording(lazy("sending your confirmation"), lazy("The mail service")),
    "release_stock": StepWording(lazy("putting your items back"), lazy("The stock room")),
    "refund_payment": StepWording(lazy("refunding your payment"), lazy("The payment service")),
    "cancel_shipment": StepWording(lazy("cancelling the delivery"), lazy("The delivery service")),
    "void_invoice": StepWording(lazy("cancelling the invoice"), lazy("The invoice service")),
}

PROCESS_STATES: dict[str, Text] = {
    ProcessState.PENDING: lazy("Received"),
    ProcessState.PROCESSING: lazy("In progress"),
    ProcessState.PROCESSED: lazy("Complete"),
    ProcessState.ERROR: lazy("Held up"),
    "compensating": lazy("Being undone"),
    "compensated": lazy("Undone"),
    "cancelled": lazy("Cancelled"),
}

STEP_STATES: dict[str, Text] = {
    StepState.WAITING: lazy("Not yet"),
    StepState.PENDING: lazy("Next"),
    StepState.PROCESSING: lazy("In progress"),
    "retrying": lazy("Trying again"),
    "refused": lazy("Refused"),
    StepState.PROCESSED: lazy("Done"),
    StepState.ERROR: lazy("Held up"),
    "failed": lazy("Did not work"),
    StepState.SKIPPED: lazy("Skipped"),
    "compensated": lazy("Undone"),
    "cancelled": lazy("Cancelled"),
}

#: By the code of a permanent fault.
REFUSALS: dict[str, Text] = {
    "card_declined": lazy("Your card was declined. You were not charged."),
    "http_402": lazy("Your card was declined. You were not charged."),
    "out_of_stock": lazy("Something you ordered has just sold out."),
    "review_declined": lazy("Our team could not accept this order."),
}

#: What a step without a running clock waits for.
WAITS: dict[str, Text] = {
    "review": lazy("One of our people looks at large orders. Nothing has been charged yet."),
}

REASSURANCES: dict[str, Text] = {
    "charge_payment": lazy("You will not be charged twice."),
    "refund_payment": lazy("Your money is not lost."),
}


def step(name: str) -> StepWording:
    """Return the texts of a step; for an unknown step, texts derived from its name."""
    wording = STEPS.get(name)
    return wording or StepWording(name.replace("_", " "), lazy("A service"))


def process_state(state: str) -> str:
    return str(PROCESS_STATES.get(state, state))


def step_state(state: str) -> str:
    return str(STEP_STATES.get(state, state))


def reassurance(name: str, details: Mapping[str, Any] | None) -> str:
    """Return a text that no money is lost; empty for a refused step, which touched none."""
    if details is None or details.get("kind") in ("permanent", "refused"):
        return ""
    return str(REASSURANCES.get(name, ""))


def fault(name: str, details: Mapping[str, Any] | None) -> str:
    """Return a sentence about a fault of the step ``name``; empty if there is none."""
    if details is None:
        return ""
    service = {"service": step(name).service}
    match details.get("kind"):
        case "unavailable":
            return _("%(service)s is not answering.") % service
        case "expired":
            return _("%(service)s did not answer in time.") % service
        case "permanent" | "refused":
            code = str(details.get("code"))
            refusal = REFUSALS.get(code)
            if refusal is None and details["kind"] == "refused" and name == "charge_payment":
                # Banks use codes of their own; a refused charge is a declined card.
                refusal = REFUSALS["card_declined"]
            return str(refusal or _("%(service)s could not accept this order.") % service)
    return _("%(service)s had a problem.") % service
