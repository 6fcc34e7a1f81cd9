"""What an alert's code means: what its incident is called, how grave it is, and what to do.

The kinds are declared in ``engine_alerts``, in the desk's ``alerts``, and by applications.
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
from workers.definitions.alert_messages import Text, in_words, worded
from workers.exceptions import WorkflowError

#: SQL: nobody but a person can tell that the cause of alert ``a`` has ended.
BY_HAND = "a.acknowledged_at IS NOT NULL"
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
    #: Code that no live worker has.
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
    #: An application's: takes the subjects of alerts that are not resolved and returns those whose
    #: cause has ended; the sweep asks every few seconds while there are any.
    #: None = such an alert closes when somebody acknowledges it.
    ended: Callable[[Collection[str]], Collection[str]] | None = None
    #: The engine's and the desk's: the same as SQL.
    ended_sql: str = ""

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
        message = self.message or _chosen(self.title, params)
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
