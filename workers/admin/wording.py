"""What an operator reads: states, faults and journal events in plain words."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise

STATES: dict[str, Text] = {
    "waiting": _("waiting"),
    "pending": _("pending"),
    "processing": _("processing"),
    "processed": _("processed"),
    "error": _("error"),
    "skipped": _("skipped"),
    "compensating": _("compensating"),
    "compensated": _("compensated"),
    "cancelled": _("cancelled"),
}

FAULT_KINDS: dict[str, Text] = {
    "unavailable": _("unavailable"),
    "transient": _("transient"),
    "permanent": _("permanent"),
    "expired": _("expired"),
    "refused": _("refused"),
}

#: What happened to a step.
STEP_EVENTS: dict[str, Text] = {
    "ready": _("Ready, and waiting for room at its agent"),
    "claimed": _("Claimed for an attempt"),
    "handed_back": _("Handed back: the request could not be sent"),
    "lost": _("Nobody started it: the same request was sent again"),
    "reply_filed": _("Reply filed on the step"),
    "stale_reply": _("Late reply ignored: its claim no longer held"),
    "processed": _("Done"),
    "failed": _("Failed: one failure counted"),
    "parked": _("Service not reached: parked, no failure counted"),
    "refused": _("Refused by the service"),
    "expired": _("Expired without a reply: one failure counted"),
    "fell_back": _("Handed to the fall-back agent"),
    "skipped": _("Skipped"),
    "resubmitted": _("Its attempts were given back"),
    "waits_long": _("Failed for good: rests, then has all its attempts again"),
    "cancelled": _("Called off"),
    "nothing_to_undo": _("Nothing to undo after all"),
    "compensated": _("Its effect was undone"),
}

#: What happened to the process as a whole.
PROCESS_EVENTS: dict[str, Text] = {
    "submitted": _("Submitted"),
    "started": _("Work began"),
    "processed": _("Everything is done"),
    "error": _("Stopped: an operator is needed"),
    "resubmitted": _("Resubmitted by an operator"),
    "compensating": _("Turned round: what was done is being undone"),
    "compensated": _("Undone"),
    "cancelled": _("Cancelled"),
}

#: How an event is to be taken, where that is not plainly neutral.
TONES: dict[str, str] = {
    "processed": "good",
    "failed": "bad",
    "refused": "bad",
    "expired": "bad",
    "error": "bad",
    "lost": "odd",
    "parked": "odd",
    "handed_back": "odd",
    "stale_reply": "odd",
    "fell_back": "odd",
    "skipped": "odd",
    "resubmitted": "person",
    "cancelled": "person",
}


def state(name: str) -> str:
    return str(STATES.get(name, name))


def fault_kind(name: str) -> str:
    return str(FAULT_KINDS.get(name, name))


def event(name: str, *, of_step: bool) -> str:
    """Return an event as a sentence; one that has none is told by its name."""
    known = (STEP_EVENTS if of_step else PROCESS_EVENTS).get(name)
    return str(known or name.replace("_", " ").capitalize())


def tone(name: str) -> str:
    return TONES.get(name, "plain")
