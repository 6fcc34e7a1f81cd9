"""What an alert's code means to people: declared by the desk and by applications.

A test compares the kinds with "Alerts" in the documentation.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from django.utils.functional import Promise

from workers.exceptions import WorkflowError

Text = str | Promise


class IncidentKind(StrEnum):
    """Where the cause of an incident lies."""

    #: A step of a workflow fails at its agent.
    FAILURE = "failure"
    #: An agent's service or its workers.
    AGENT = "agent"
    #: A periodic duty.
    DUTY = "duty"
    #: Code that no live worker has.
    DEFINITION = "definition"
    #: A submitter, or the address where it is notified.
    SUBMITTER = "submitter"
    #: A finding of the doctor about an installation.
    INSTALLATION = "installation"
    OTHER = "other"


class Severity(IntEnum):
    """How grave an incident is; the lower, the graver."""

    #: Nothing moves, or money stays where it should not, until somebody acts.
    URGENT = 1
    #: Some processes wait for somebody.
    ERROR = 2
    #: For information; nothing waits.
    NOTICE = 3


#: A text, or texts by the name of a sentence in an alert's ``says``; the empty name is the
#: default.
Choice = Text | Mapping[str, Text]


@dataclass(frozen=True, slots=True)
class AlertKind:
    """The meaning of an alert code for people.

    ``title`` has the parameters ``code``, ``workflow``, ``step``, ``agent``, ``reason`` (of the
    fault), ``message`` and ``about`` (what follows the code in the alert's cause); for alerts
    without a process, also the parameters of the newest.
    """

    code: str
    kind: IncidentKind
    severity: Severity
    title: Choice
    #: What to do, unless an alert brings a ``remedy`` of its own.
    remedy: Choice
    #: What happens by itself; empty = nothing until somebody acts.
    goes_on: Choice = ""
    #: What an alert says, filled in with its parameters; or sentences by name, of which an alert
    #: says those in its parameter ``says``.  Empty = the title.
    message: Text | Mapping[str, Text] = ""
    #: For an application's alerts: takes the subjects of unresolved ones and returns those whose
    #: cause has ended; the sweep calls it every few seconds while there are any.
    #: None = the alert closes when somebody acknowledges it.
    ended: Callable[[Collection[str]], Collection[str]] | None = None
    #: For the desk's alerts: the same as SQL (``store.alert_resolution``).
    ended_sql: str = ""


_kinds: dict[str, AlertKind] = {}


def register_alert_kind(kind: AlertKind) -> AlertKind:
    """Register what the alerts of a code mean; refuse a second kind of the same code."""
    if _kinds.setdefault(kind.code, kind) != kind:
        raise WorkflowError(f"Alert code {kind.code!r} is registered twice. Choose another code.")
    return kind


def alert_kind(code: str) -> AlertKind:
    """Return the kind of a code; for an unknown code, one that shows the code and the message."""
    kind = _kinds.get(code)
    if kind is not None:
        return kind
    return AlertKind(code, IncidentKind.OTHER, Severity.ERROR, "%(code)s: %(message)s", "")


def alert_kinds() -> list[AlertKind]:
    """Return every registered kind, in the order of registration."""
    return list(_kinds.values())
