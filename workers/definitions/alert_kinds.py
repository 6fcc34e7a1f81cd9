"""What an alert's code means: the title and severity of its incident, and what to do.

The kinds are declared in ``engine_alerts``, in the desk's ``alerts``, and by applications.
A test compares them with "Alerts" in the documentation.
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
from workers.definitions.alert_messages import Text, in_words, worded
from workers.exceptions import WorkflowError

#: SQL: only a person can tell that the cause of alert ``a`` has ended.
BY_HAND = "a.acknowledged_at IS NOT NULL"
#: Replaces, in an incident's parameters, what differs from one process to the next.
ANY = "#"
_ANY = re.compile(rf"(?<!\w){ANY}(?!\w)")


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
    #: For the engine's and the desk's alerts: the same as SQL.
    ended_sql: str = ""

    def title_with(self, params: Mapping[str, Any]) -> str:
        """Return the title in words; a missing parameter is left empty."""
        newest = _newest(params)
        values = {**worded(newest), "code": self.code, "reason": _reason(params), **params}
        # The many values that differ are left out.
        return _ANY.sub("…", str(_choose(self.title, newest)) % defaultdict(str, values))

    def newest_message(self, params: Mapping[str, Any]) -> str:
        """Return what the newest alert without a process says; empty: there is none."""
        newest = _newest(params)
        return self.message_with(newest) if newest else ""

    def remedy_with(self, params: Mapping[str, Any]) -> str:
        """Return what to do: the newest alert's own remedy, or that of the kind."""
        newest = _newest(params)
        remedy = newest.get("remedy")
        return sentences.in_words(remedy) if remedy else str(_choose(self.remedy, newest))

    def goes_on_with(self, params: Mapping[str, Any]) -> str:
        """Return what happens by itself; empty: nothing until somebody acts."""
        return str(_choose(self.goes_on, _newest(params)))

    def message_with(self, params: Mapping[str, Any]) -> str:
        """Return in words what an alert of this kind says.

        An alert that was raised without parameters has its message as ``text``.
        """
        if "text" in params:
            return str(params["text"])
        message = self.message or _choose(self.title, params)
        return in_words(message, {"code": self.code, **params}).rstrip()


def _newest(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of an incident's newest alert, if that has no process."""
    return params.get("said") or {}


def _choose(choice: Choice, params: Mapping[str, Any]) -> Text:
    if not isinstance(choice, Mapping):
        return choice
    names = [*params.get("says", ()), ""]
    return next((choice[name] for name in names if name in choice), "")


def _reason(params: Mapping[str, Any]) -> str:
    message = params.get("message") or gettext("no reason was given")
    kinds = dict.fromkeys((params.get("fault"), params.get("fault_code")))
    fault = ", ".join(filter(None, kinds))
    return f"{message} ({fault})" if fault else message


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
    unnamed = _("%(code)s: %(message)s")
    return AlertKind(code, IncidentKind.OTHER, Severity.ERROR, unnamed, "")


def alert_text(code: str, params: Mapping[str, Any] | None, message: str) -> str:
    """Return what an alert says, in words; without parameters, its message."""
    return message if params is None else alert_kind(code).message_with(params)


def alert_kinds() -> list[AlertKind]:
    """Return every registered kind, in the order of registration."""
    return list(_kinds.values())
