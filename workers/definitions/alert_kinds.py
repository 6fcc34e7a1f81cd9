"""What an alert's code means: what its incident is called, how grave it is, and what to do.

The texts stand here alone: the admin, the terminal and messages to operators read them, and
"Alerts" in the documentation is compared with them.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from workers.definitions import sentences
from workers.definitions.alert_messages import MESSAGES, Text, in_words, worded
from workers.exceptions import WorkflowError

#: Stands in an incident's parameters for what differs from one process to the next.
ANY = "#"
_ANY = re.compile(rf"(?<!\w){ANY}(?!\w)")


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


#: A text, or several by the sentence of an alert's ``says`` with which each is true; the one by
#: the empty name holds where none is.
Choice = Text | Mapping[str, Text]


@dataclass(frozen=True, slots=True)
class AlertKind:
    """What a code of alerts means to people.

    ``title`` has the parameters ``code``, ``workflow``, ``step``, ``agent``, ``reason`` (of the
    fault), ``message`` and ``about`` (what follows the code in the alert's cause); of alerts that
    are of no process also those that the newest was raised with.
    """

    code: str
    kind: IncidentKind
    severity: Severity
    title: Choice
    #: What to do, where an alert does not bring a ``remedy`` of its own.
    remedy: Choice
    #: What happens by itself; empty = nothing until somebody acts.
    goes_on: Choice = ""
    #: What an alert says, with the parameters it was raised with; or the sentences of which each
    #: alert says some, those that its parameter ``says`` names.  Empty = the title.
    message: Text | Mapping[str, Text] = ""
    #: Of an application's own: takes the subjects of alerts that are not resolved and returns those
    #: whose cause has ended; asked by the sweep every few seconds while there are any.
    #: None = such an alert closes when somebody acknowledges it.
    ended: Callable[[Collection[str]], Collection[str]] | None = None

    def title_with(self, params: Mapping[str, Any]) -> str:
        """Return the title in words; a parameter that is missing is left empty."""
        said = _said(params)
        known = {**worded(said), "code": self.code, "reason": _reason(params), **params}
        # A person is not told which: there are many.
        return _ANY.sub("…", str(_chosen(self.title, said)) % defaultdict(str, known))

    def known_with(self, params: Mapping[str, Any]) -> str:
        """Return what the newest alert says that is of no process; empty: there is none."""
        said = _said(params)
        return self.message_with(said) if said else ""

    def remedy_with(self, params: Mapping[str, Any]) -> str:
        """Return what is to be done, as far as the newest alert knows why it was raised."""
        said = _said(params)
        own = said.get("remedy")
        return sentences.in_words(own) if own else str(_chosen(self.remedy, said))

    def goes_on_with(self, params: Mapping[str, Any]) -> str:
        """Return what happens by itself; empty: nothing until somebody acts."""
        return str(_chosen(self.goes_on, _said(params)))

    def message_with(self, params: Mapping[str, Any]) -> str:
        """Return in words what an alert of this kind says.

        ``text`` in its parameters is what it was raised with where nobody gave any.
        """
        if "text" in params:
            return str(params["text"])
        message = self.message or MESSAGES.get(self.code) or _chosen(self.title, params)
        return in_words(message, {"code": self.code, **params}).rstrip()


def _said(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the newest alert of an incident was raised with, if that is of no process."""
    return params.get("said") or {}


def _chosen(choice: Choice, said: Mapping[str, Any]) -> Text:
    if not isinstance(choice, Mapping):
        return choice
    names = [*said.get("says", ()), ""]
    return next((choice[name] for name in names if name in choice), "")


def _reason(params: Mapping[str, Any]) -> str:
    message = params.get("message") or gettext("no reason was given")
    kinds = dict.fromkeys((params.get("fault"), params.get("fault_code")))
    fault = ", ".join(filter(None, kinds))
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
        {
            "watched": _("No worker performs the periodic duties: %(about)s"),
            "": _("Periodic duties are late: %(about)s"),
        },
        {
            "never": _("Start the workers and Celery Beat."),
            "unasked": _(
                "Start Celery Beat, or enable the periodic task; and start workers if none runs."
            ),
            "unread": _(
                "Beat lives: see what the workers that read that queue are busy with, or start one"
                " with -Q and its name."
            ),
            "stuck": _("Look at the database."),
            "no_broker": _("Look at the broker."),
            "ahead": _(
                "Look at the time service of the database's machine, and restart Beat if doctor"
                " --only duties says that it waits, too."
            ),
        },
        # Who watches asks nobody for it: no worker might hear.
        goes_on={"triggered": _("a worker triggers it each time it is late")},
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
        {
            "agent": _("Steps wait for code that no worker has: agent %(name)s"),
            "workflow": _(
                "Steps wait for code that no worker has: workflow %(name)s, version %(version)s"
            ),
            # One of the two is there: the name, or that of the process that waits.
            "": _("Steps wait for code that no worker has: %(about)s%(workflow)s"),
        },
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
        {
            "found": _("The doctor finds an error: %(finding)s"),
            "": _("The doctor's probe %(about)s finds an error"),
        },
        _("See on the doctor's page why it matters and what to do, and do that."),
        goes_on=_("the doctor looks again each minute"),
    ),
    AlertKind(
        "restored",
        IncidentKind.OTHER,
        Severity.URGENT,
        _("The database was restored to %(about)s"),
        _(
            "Have what was accepted after that time submitted again: see"
            ' "Restore a database" in the documentation.'
        ),
    ),
):
    register_alert_kind(_kind)
