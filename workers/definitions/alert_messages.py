"""What the engine's alerts say: their texts, put into words when they are read.

An alert keeps its code and its parameters.  A parameter whose name ends in ``_at`` is an instant
and is told in the reader's time zone.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from workers.definitions import delivery_problems
from workers.definitions import sentences as wording
from workers.runtime import timestamps

Text = str | Promise

#: By the code of the alert; where an alert says several sentences, by their names.
MESSAGES: Mapping[str, Text | Mapping[str, Text]] = {
    "process_error": _("%(subject)s: step %(step)s failed for good: %(reason)s"),
    "process_compensating": _("%(subject)s is being undone: step %(step)s failed: %(reason)s"),
    "undo_stuck": _("%(subject)s: undo step %(step)s failed for good: %(reason)s"),
    "decision_needed": _("%(subject)s: step %(step)s failed, and somebody must decide: %(reason)s"),
    "undo_requested": _("%(actor)s asks to undo %(subject)s. It takes somebody else's leave."),
    "answer_overdue": _("%(subject)s: step %(step)s still waits for %(question)s"),
    "deadline_passed": {
        "undone": _("%(subject)s was to end by %(deadline_at)s and is being undone."),
        "goes_on": _("%(subject)s was to end by %(deadline_at)s and goes on."),
    },
    "step_skipped": _("%(subject)s: optional step %(step)s was skipped: %(reason)s"),
    "claims_unstarted": _(
        "Nobody starts the claims of agent %(agent)s. Is a worker for its queue up?"
    ),
    "duty_overdue": {
        "never": _("The %(duty)s was never done."),
        "ahead": _(
            "The %(duty)s is dated %(seconds)s s in the future: the database's clock was set back."
            " Look at its time service."
        ),
        "late": _("The %(duty)s was overdue at %(seen_at)s: last done %(seconds)s s before."),
        "stuck": _("A worker is at it and has not done: is the database slow?"),
        "no_broker": _("The broker does not answer."),
        "unread": _(
            "It was asked for, and no worker takes the messages in %(queue)s (%(waiting)s): are the"
            " workers that read it busy, or is there none?"
        ),
        "unasked": _(
            "Nobody has asked for it: is Celery Beat running, and its periodic task enabled?"
        ),
        "triggered": _("A worker has triggered it."),
        "watched": _("Noticed by `manage.py watch`."),
    },
    "probe_failed": _("%(probe)s: %(finding)s. %(why)s"),
    "breaker_open": _(
        "The service of agent %(agent)s has not been reached since %(opened_at)s: %(reason)s."
        " Its steps wait; none fails."
    ),
    "unknown_definition": {
        "agent": _(
            "Steps wait for code that knows them. No agent %(name)s is registered. Register it in"
            " an agents module."
        ),
        "workflow": _(
            "Steps wait for code that knows them. No workflow %(name)s version %(version)s is"
            " registered. Register it in a workflows module."
        ),
    },
    "on_end_failed": _(
        "%(subject)s cannot end as %(state)s: on_end of %(workflow)s version %(version)s raised"
        " %(reason)s"
    ),
    "sink_undeliverable": {
        "owner": _("%(owner)s cannot be told of orders at the %(kind)s %(place)s: %(reason)s."),
        "nobody": _("Somebody cannot be told of orders at the %(kind)s %(place)s: %(reason)s."),
        "mend": _("Nothing waits for it. Once it is mended: manage.py sinks retry."),
    },
    "route_undeliverable": _(
        "Route %(route)s cannot be told of incidents: %(reason)s. Fix it, then send a test from"
        " its page in the admin."
    ),
    "restored": _(
        "The database was restored to %(since_at)s: %(steps)s steps of %(processes)s processes are"
        " in doubt. What was accepted later has to come again."
    ),
}


def in_words(message: Text | Mapping[str, Text], params: Mapping[str, Any]) -> str:
    """Return a message with its parameters; a parameter that is missing is left empty."""
    known = defaultdict(str, worded(params))
    if problem := params.get("problem"):
        known["reason"] = delivery_problems.text_of(problem["code"], problem["params"])
    known["reason"] = wording.unended(known["reason"]) or gettext("no reason was given")
    known["finding"] = wording.unended(known["finding"])
    known["question"] = known["question"] or gettext("an answer")
    if not isinstance(message, Mapping):
        return str(message) % known
    # A sentence that this code does not know is of a newer one: the others still help.
    sentences = [message[name] for name in params.get("says", ()) if name in message]
    return " ".join(str(sentence) % known for sentence in sentences)


def worded(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with sentences and instants among them in the reader's words."""
    return {name: _in_words(name, value) for name, value in params.items()}


def _in_words(name: str, value: Any) -> Any:
    if isinstance(value, Mapping) and value.keys() >= {"text", "params"}:
        return wording.in_words(value)
    if not name.endswith("_at"):
        return value
    try:
        return timestamps.full(datetime.fromisoformat(str(value)))
    except ValueError:
        return value
