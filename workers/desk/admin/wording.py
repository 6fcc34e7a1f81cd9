"""What an operator reads: states, faults and journal events in plain words."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workers.models import Journal
from workers.states import PEOPLE

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
    "handed_back": _("Released: no failure counted"),
    "reply_filed": _("Reply filed on the step"),
    "stale_reply": _("Late reply ignored: its claim no longer held"),
    "processed": _("Done"),
    "failed": _("Failed: one failure counted"),
    "parked": _("Service not reached: parked, no failure counted"),
    "refused": _("Refused by the service"),
    "expired": _("Expired without a reply: one failure counted"),
    "fell_back": _("Handed to the fall-back agent"),
    "skipped": _("Skipped"),
    "resubmitted": _("Attempts reset"),
    "waits_long": _("Failed for good: waits, then is tried again with all its attempts"),
    "cancelled": _("Cancelled"),
    "nothing_to_undo": _("Nothing to undo after all"),
    "compensated": _("Its effect was undone"),
    "deferred": _("Asked, and waits for an answer"),
    "escalated": _("The answer is overdue: an alert was raised"),
    "answer_kept": _("An answer came early and is kept"),
    "late_success": _("A success came after it was undone"),
    "asked_again": _("It is asked to undo once more"),
    "nobody_asked": _("Early answer dropped: the step ended before it asked"),
    "begins_again": _("Begins again, with a new idempotency key"),
    "restored": _("Its claim was void after the database was restored"),
    "outcome_unknown": _("Outcome unknown, and it must not be repeated"),
    "done_by_hand": _("Done by hand, so it must be undone by hand"),
    "key_expired": _("Outcome unknown, and the service has forgotten its key"),
    "condition_failed": _("Its condition could not be evaluated"),
}

#: What happened to the process as a whole.
PROCESS_EVENTS: dict[str, Text] = {
    "submitted": _("Submitted"),
    "started": _("Work began"),
    "processed": _("Everything is done"),
    "error": _("Stopped: an operator is needed"),
    "resubmitted": _("Resubmitted by an operator"),
    "compensating": _("Compensating: what was done is being undone"),
    "compensated": _("Undone"),
    "cancelled": _("Cancelled"),
    "resumed": _("Goes on: the last step in error was dealt with"),
    "undo_asked": _("A second person was asked to approve an act"),
    "undo_approved": _("A second person approved an act"),
    "undo_declined": _("The request for approval was declined"),
    "begins_again": _("Goes on, from the steps that begin again"),
    "deadline_passed": _("Its deadline has passed"),
    "restored": _("The database was restored: the outcome of what may have run is unknown"),
    "held": _("Held by an operator"),
    "lifted": _("A hold was lifted"),
    "flow_set": _("The flow of an agent was set"),
    "route_set": _("A route was set"),
    "route_deleted": _("A route was removed"),
    "route_muted": _("A route was muted or unmuted"),
    "job_started": _("A job was started"),
    "job_paused": _("A job was paused"),
    "job_resumed": _("A job was resumed"),
    "job_stopped": _("A job was stopped"),
    "incident_taken": _("An incident was taken"),
    "incident_assigned": _("An incident was assigned"),
    "incident_snoozed": _("An incident was put off"),
    "incident_resolved": _("An incident was resolved by hand"),
    "handed_over": _("The shift was handed over"),
    "incident_noted": _("A note was written on an incident"),
    "noted": _("A note was written on it"),
    "alert_acknowledged": _("An alert was acknowledged"),
    "route_tested": _("A route was tested"),
    "delivery_resent": _("An undelivered message to a route was sent again"),
    "retold": _("Its submitter is told again"),
    "exported": _("A list was downloaded as a file"),
    "pruned_by_hand": _("Old records were pruned by hand"),
    "personal_shown": _("Its personal data were shown to an operator"),
    "person_erased": _("What was kept of a person was erased"),
    "person_exported": _("What is kept of a person was exported"),
    "pruned": _("Its earlier journal was pruned"),
}


def register_events(events: Mapping[str, Text]) -> None:
    """Register sentences for what people do: verbs declare them, apps with their own acts."""
    PROCESS_EVENTS.update(events)
    TONES.update(dict.fromkeys(events, "person"))


#: Sentences for the answers of a person.
ANSWERED: dict[str, Text] = {
    "processed": _("Answered: it goes on"),
    "refused": _("Answered: declined"),
}
#: Sentences for steps that a person ended.
BY_HAND: dict[str, Text] = {
    "processed": _("Completed by hand"),
    "skipped": _("Skipped by hand"),
}

#: The tone of an event, if it is not neutral.
TONES: dict[str, str] = {
    "processed": "good",
    "failed": "bad",
    "refused": "bad",
    "expired": "bad",
    "error": "bad",
    "parked": "odd",
    "handed_back": "odd",
    "stale_reply": "odd",
    "nobody_asked": "odd",
    "late_success": "bad",
    "asked_again": "odd",
    "fell_back": "odd",
    "skipped": "odd",
    "resubmitted": "person",
    "cancelled": "person",
    "escalated": "odd",
    "restored": "odd",
    "outcome_unknown": "bad",
    "key_expired": "bad",
    "done_by_hand": "bad",
    "condition_failed": "bad",
    "deadline_passed": "bad",
    "undo_asked": "person",
    "undo_approved": "person",
    "undo_declined": "person",
    "held": "person",
    "lifted": "person",
    "flow_set": "person",
    "route_set": "person",
    "route_deleted": "person",
    "route_muted": "person",
    "job_started": "person",
    "job_paused": "person",
    "job_resumed": "person",
    "job_stopped": "person",
    "personal_shown": "person",
    "person_erased": "person",
    "person_exported": "person",
    "exported": "person",
    "noted": "person",
    "retold": "person",
    "alert_acknowledged": "person",
}


def state(name: str) -> str:
    return str(STATES.get(name, name))


def fault_kind(name: str) -> str:
    return str(FAULT_KINDS.get(name, name))


#: The words for a step whose undo found nothing to undo: no money came back.
FOUND_NOTHING = _("Its undo found nothing to undo")


def event(name: str, *, of_step: bool, by_hand: bool = False) -> str:
    """Return an event as a sentence; one without a sentence, by its name."""
    if by_hand and name in BY_HAND:
        return str(BY_HAND[name])
    # What a person does to a step has its sentence where it is declared, for steps as well.
    text = (STEP_EVENTS.get(name) if of_step else None) or PROCESS_EVENTS.get(name)
    return str(text or name.replace("_", " ").capitalize())


def act(name: str, *, of_step: bool, by_hand: bool = False) -> str:
    """Return an act of a person as a sentence: a step that they ended was answered, or by hand."""
    if of_step and not by_hand and name in ANSWERED:
        return str(ANSWERED[name])
    return event(name, of_step=of_step, by_hand=by_hand)


def of_row(row: Journal) -> str:
    """Return a journal row as a sentence."""
    detail = row.detail if isinstance(row.detail, dict) else {}
    by_hand = bool(detail.get("by_hand"))
    if row.event == "compensated" and detail.get("found_nothing"):
        return str(FOUND_NOTHING)
    sentence = act if row.actor.startswith(PEOPLE) else event
    return sentence(row.event, of_step=row.step_id is not None, by_hand=by_hand)


def tone(name: str, *, by_hand: bool = False) -> str:
    if by_hand:
        return "person"
    return TONES.get(name, "plain")
