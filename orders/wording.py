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
    "restock": StepWording(lazy("putting your items back"), lazy("The stock room")),
    "refund": StepWording(lazy("refunding your payment"), lazy("The payment service")),
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
    "not_charged": lazy("Not charged"),
    "nothing_to_undo": lazy("Nothing to refund"),
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

#: By the step of a return that a person answers with no, or not in time.
RETURN_REFUSALS: dict[str, Text] = {
    "await_parcel": lazy("Your parcel has not come."),
    "inspect": lazy("We could not take back what you sent."),
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
    if name in RETURN_REFUSALS:
        return str(RETURN_REFUSALS[name])
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


class NoticeWording(NamedTuple):
    """The mail about a turn of an order: its subject, the news, and what happens next."""

    subject: Text
    news: Text
    following: Text


#: By the turn: the state in which an order ends, after ``return_`` that of a return.
NOTICES: dict[str, NoticeWording] = {
    "received": NoticeWording(
        lazy("received"),
        lazy("thank you. We have received your order %(number)s at Lantern & Loom."),
        lazy(
            "We take your payment next, and write again when your parcel is booked. Until then "
            "you can cancel the order on its page."
        ),
    ),
    "review": NoticeWording(
        lazy("received, we look at it"),
        lazy(
            "thank you. We have received your order %(number)s at Lantern & Loom. One of our "
            "people looks at large orders; nothing is charged before."
        ),
        lazy(
            "We write again when your parcel is booked, or if we cannot accept the order. Until "
            "then you can cancel it on its page."
        ),
    ),
    "error": NoticeWording(
        lazy("held up"),
        lazy("your order %(number)s at Lantern & Loom is held up."),
        lazy(
            "One of our people sees to it; there is nothing for you to do, and you will not be "
            "charged twice. We write again when it goes on or ends."
        ),
    ),
    "compensated": NoticeWording(
        lazy("we could not complete it"),
        lazy("we are sorry: we could not complete your order %(number)s at Lantern & Loom."),
        lazy("Nothing will be sent, and nothing more happens with this order."),
    ),
    "cancelled": NoticeWording(
        lazy("cancelled"),
        lazy("your order %(number)s at Lantern & Loom was cancelled."),
        lazy("Nothing will be sent, and nothing more happens with this order."),
    ),
    "return_begun": NoticeWording(
        lazy("you may send it back"),
        lazy("we have accepted the return of your order %(number)s at Lantern & Loom."),
        lazy(
            "Send the parcel back within 30 days, with the number of your order, to the sender on "
            "its label. One of our people looks at what has come; then we refund what you paid, "
            "and write again."
        ),
    ),
    "return_processed": NoticeWording(
        lazy("your return is complete"),
        lazy("what you sent back of your order %(number)s at Lantern & Loom has come."),
        lazy("Nothing more happens with this order."),
    ),
    "return_compensated": NoticeWording(
        lazy("your return has ended"),
        lazy("the return of your order %(number)s at Lantern & Loom has ended without a refund."),
        lazy("If you still want to send it back, ask for a return again on its page."),
    ),
    "return_error": NoticeWording(
        lazy("your return is held up"),
        lazy("the return of your order %(number)s at Lantern & Loom is held up."),
        lazy(
            "One of our people sees to it; there is nothing for you to do. We write again when it "
            "is done."
        ),
    ),
}
NOTICES["return_cancelled"] = NOTICES["return_compensated"]

OPEN = lazy("One of our people sees to your money; there is nothing for you to do.")
SENT = lazy(
    "If something is not right with it, ask for a return on the page of your order: its address "
    "is in our first mail."
)


def notice(payload: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the subject of a notice, its news, and what happens next.

    A payload without a turn is an order that is on its way.
    """
    number = {"number": payload["number"]}
    subject = _("Your order %(number)s") % number
    turn = payload.get("turn")
    wording = NOTICES.get(str(turn))
    if wording is not None:
        # What is not settled goes before what is usual.
        following = OPEN if payload.get("is_open") and turn != "error" else wording.following
        return f"{subject}: {wording.subject}", str(wording.news) % number, str(following)
    if payload.get("is_paid") and payload.get("is_shipped"):
        news = _("thank you. Your order %(number)s at Lantern & Loom is paid and on its way:")
    elif payload.get("is_paid"):
        news = _("thank you. Your order %(number)s at Lantern & Loom is paid:")
    else:
        news = _("thank you for your order %(number)s at Lantern & Loom:")
    return subject, news % number, str(SENT)


def as_asked() -> str:
    return _("You asked for it.")
