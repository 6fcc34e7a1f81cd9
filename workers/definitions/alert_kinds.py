"""What an alert's code means: how its incident is called, how grave it is, and what to do.

The texts stand here alone: the admin, the terminal and messages to operators read them, and
``docs/reference/alerts.md`` is compared with them.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from workers.definitions.alert_messages import MESSAGES, Text, in_words
from workers.exceptions import WorkflowError


class IncidentKind(StrEnum):
    """What the cause of an incident lies in."""

    #: A step of a workflow fails at its agent.
    FAILURE = "failure"
    #: An agent's service or its workers.
    AGENT = "agent"
    #: A periodic duty.
    DUTY = "duty"
    #: Code that no worker has.
    DEFINITION = "definition"
    #: Whoever submits, or is to be told.
    SUBMITTER = "submitter"
    #: What the doctor finds at an installation.
    INSTALLATION = "installation"
    OTHER = "other"


class Severity(IntEnum):
    """How grave an incident is; the lower, the graver."""

    #: Nothing moves, or money stays where it should not, until somebody acts.
    URGENT = 1
    #: Some processes wait for somebody.
    ERROR = 2
    #: To be known; nothing waits.
    NOTICE = 3


@dataclass(frozen=True, slots=True)
class AlertKind:
    """What a code of alerts means to people.

    ``title`` has the parameters ``code``, ``workflow``, ``step``, ``agent``, ``reason`` (of the
    fault), ``message`` and ``about`` (what follows the code in the alert's cause).
    """

    code: str
    kind: IncidentKind
    severity: Severity
    title: Text
    remedy: Text
    #: What happens by itself; empty = nothing until somebody acts.
    goes_on: Text = ""
    #: What an alert says, with the parameters it was raised with; or the sentences of which each
    #: alert says some, those that its parameter ``says`` names.  Empty = the title.
    message: Text | Mapping[str, Text] = ""

    def title_with(self, params: Mapping[str, Any]) -> str:
        """Return the title in words; a parameter that is missing is left empty."""
        known = {"code": self.code, "reason": _reason(params), **params}
        return str(self.title) % defaultdict(str, known)

    def message_with(self, params: Mapping[str, Any]) -> str:
        """Return in words what an alert of this kind says.

        ``text`` in its parameters is what it was raised with where nobody gave any.
        """
        if "text" in params:
            return str(params["text"])
        message = self.message or MESSAGES.get(self.code) or self.title
        return in_words(message, {"code": self.code, **params})


def _reason(params: Mapping[str, Any]) -> str:
    message = params.get("message") or gettext("no reason was given")
    fault = ", ".join(filter(None, (params.get("fault"), params.get("fault_code"))))
    return f"{message} ({fault})" if fault else message


_kinds: dict[str, AlertKind] = {}


def register_alert_kind(kind: AlertKind) -> AlertKind:
    """Make known what the alerts of a code mean; refuse another one of the same code."""
    if _kinds.setdefault(kind.code, kind) != kind:
        raise WorkflowError(f"Alert code {kind.code!r} is registered twice. Choose another code.")
    return kind


def alert_kind(code: str) -> AlertKind:
    """Return what the alerts of a code mean; of an unknown one, that much."""
    known = _kinds.get(code)
    if known is not None:
        return known
    unnamed = _("%(code)s: %(message)s")
    return AlertKind(code, IncidentKind.OTHER, Severity.ERROR, unnamed, "")


def alert_text(code: str, params: Mapping[str, Any] | None, message: str) -> str:
    """Return what an alert says, in words; one without parameters says its message."""
    return message if params is None else alert_kind(code).message_with(params)


def alert_kinds() -> list[AlertKind]:
    """Return every kind that is known, in the order of their registration."""
    return list(_kinds.values())


for _kind in (
    AlertKind(
        "process_error",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(step)s of %(workflow)s fails for good: %(reason)s"),
        _("Fix the cause, then resubmit, or complete, skip or undo."),
    ),
    AlertKind(
        "process_compensating",
        IncidentKind.FAILURE,
        Severity.NOTICE,
        _("%(workflow)s is undone because %(step)s fails: %(reason)s"),
        _("Tell the customer. Nothing is left to be done in the system."),
        goes_on=_("what was done is being undone"),
    ),
    AlertKind(
        "undo_stuck",
        IncidentKind.FAILURE,
        Severity.URGENT,
        _("%(step)s of %(workflow)s cannot undo: %(reason)s"),
        _("Fix the cause, then resubmit; or undo by hand and complete the undo step."),
    ),
    AlertKind(
        "decision_needed",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(step)s of %(workflow)s failed and somebody must decide: %(reason)s"),
        _("Decide: resubmit, complete, skip or undo."),
    ),
    AlertKind(
        "undo_requested",
        IncidentKind.OTHER,
        Severity.ERROR,
        _("Somebody else's leave is needed to undo processes of %(workflow)s"),
        _("Approve or decline each request, on its page under Requests to undo."),
        goes_on=_("a request that nobody decides on is over after 24 hours"),
    ),
    AlertKind(
        "answer_overdue",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("Answers to %(step)s of %(workflow)s are overdue"),
        _("Answer, or ask whoever should."),
        goes_on=_("the steps go on waiting for their answers"),
    ),
    AlertKind(
        "deadline_passed",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(workflow)s has not ended by its deadline"),
        _("Tell the customer; where it goes on, see why it takes so long."),
        goes_on=_("each process goes on, or is being undone, as its workflow says"),
    ),
    AlertKind(
        "step_skipped",
        IncidentKind.FAILURE,
        Severity.NOTICE,
        _("Optional %(step)s of %(workflow)s was skipped: %(reason)s"),
        _("Nothing, or do by hand what the step would have done."),
        goes_on=_("the processes go on without the step"),
    ),
    AlertKind(
        "claims_unstarted",
        IncidentKind.AGENT,
        Severity.URGENT,
        _("Nobody starts the claims of agent %(about)s"),
        _("Start a worker for the agent's queue. Nothing has failed: the claims are still good."),
        goes_on=_("the same claims are sent again"),
    ),
    AlertKind(
        "duty_overdue",
        IncidentKind.DUTY,
        Severity.URGENT,
        _("The %(about)s is late"),
        _(
            "Nobody has asked for it: start Celery Beat, or enable the periodic task."
            " No worker takes the messages: Beat lives; see what the workers that read that queue"
            " are busy with, or start one with -Q and its name."
            " A worker is at it: look at the database. The broker does not answer: look at it."
            " Dated in the future: the database's clock was set back; look at its time service,"
            " and restart Beat if doctor --only duties says that it waits, too."
        ),
        goes_on=_("a worker triggers it each time it is late"),
    ),
    AlertKind(
        "breaker_open",
        IncidentKind.AGENT,
        Severity.URGENT,
        _("The service of agent %(about)s is not reached"),
        _("Look after the service. Steps wait and none fails."),
        goes_on=_("a probe asks the service again each time the breaker's time is over"),
    ),
    AlertKind(
        "unknown_definition",
        IncidentKind.DEFINITION,
        Severity.URGENT,
        _("Steps wait for code that no worker has: %(about)s"),
        _("Bring the code to every worker. During a deployment the gap closes by itself."),
        goes_on=_("the steps are offered to other workers"),
    ),
    AlertKind(
        "on_end_failed",
        IncidentKind.DEFINITION,
        Severity.ERROR,
        _("on_end of %(workflow)s fails: %(message)s"),
        _("Fix on_end and bring the code to every worker. The end follows by itself."),
        goes_on=_("it is called again at each pass of the poll"),
    ),
    AlertKind(
        "sink_undeliverable",
        IncidentKind.SUBMITTER,
        Severity.NOTICE,
        _("%(about)s cannot be told of what was submitted"),
        _("Have its owner fix it, then have it told again."),
    ),
    AlertKind(
        "route_undeliverable",
        IncidentKind.OTHER,
        Severity.URGENT,
        _("Route %(about)s cannot be told of incidents"),
        _(
            "See its deliveries in the admin for what was answered, fix its address or its"
            " receiver, and have what was given up sent again."
        ),
    ),
    AlertKind(
        "probe_failed",
        IncidentKind.INSTALLATION,
        Severity.ERROR,
        _("The doctor's probe %(about)s finds an error: %(message)s"),
        _("See on the doctor's page why it matters and what to do, and do that."),
        goes_on=_("the doctor looks again each minute"),
    ),
    AlertKind(
        "restored",
        IncidentKind.OTHER,
        Severity.URGENT,
        _("The database was restored to %(about)s"),
        _("Have what was accepted after that time submitted again: see restore a database."),
    ),
):
    register_alert_kind(_kind)
