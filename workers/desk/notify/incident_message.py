"""What a route is told of incidents, and its words: pure, from facts to text.

Words are those of the active language, instants those of the active time zone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.utils.formats import number_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workers.desk.states import DeliveryEvent as Event
from workers.runtime import timestamps
from workers.runtime.visible_text import visible

#: How grave an incident is, as PagerDuty calls it; 1 is the gravest.
SEVERITIES = {1: "critical", 2: "error", 3: "info"}
#: Incidents that a message names one by one; of the others it says how many they are.
MOST_NAMED = 30
#: A mail's subject, and the line that a phone shows.
LONGEST_HEADLINE = 200
#: What is known of a cause; the incident's page has all of it.
LONGEST_KNOWN = 500


@dataclass(frozen=True, slots=True)
class IncidentFacts:
    """An incident as it is told of, in words already; ``event`` is what happened to it."""

    event: str
    key: str
    kind: str
    title: str
    severity: int
    state: str
    agent: str
    #: The processes that it stops; None: it is of none, or of more than its alerts say.
    processes: int | None
    #: What they are worth, as a decimal; None: nobody has said.
    money: str | None
    opened_at: datetime
    last_at: datetime
    #: Steps that wait for its agent; None: it is of none.
    waiting: int | None = None
    #: What is known of its cause beside the title.
    known: str = ""
    #: What is to be done about it.
    remedy: str = ""
    #: Where its page is; empty: nobody has said where the admin is.
    url: str = ""

    @property
    def severity_name(self) -> str:
        return SEVERITIES.get(self.severity, "info")


@dataclass(frozen=True, slots=True)
class IncidentMessage:
    """One message to one route: about one incident, about several, or none in a test."""

    id: str
    event: str
    at: datetime
    incidents: tuple[IncidentFacts, ...] = ()

    @property
    def incident(self) -> IncidentFacts | None:
        """Return the one incident that it is about."""
        is_one = self.event not in (Event.DIGEST, Event.TEST) and self.incidents
        return self.incidents[0] if is_one else None


_HEADLINES: dict[str, Callable[[], str]] = {
    Event.OPENED: lambda: _("New incident: %(title)s"),
    Event.REPEAT: lambda: _("Still open, and nobody has taken it: %(title)s"),
    Event.ACKNOWLEDGED: lambda: _("Taken: %(title)s"),
    Event.RESOLVED: lambda: _("Resolved: %(title)s"),
}


def headline(message: IncidentMessage) -> str:
    """Return a message in one line, without anything that would break it."""
    if message.event == Event.TEST:
        return _("Test: this route works")
    incident = message.incident
    if incident is None:
        count = len(message.incidents)
        return ngettext("%(n)d incident", "%(n)d incidents", count) % {"n": count}
    return headline_of(incident)


def headline_of(incident: IncidentFacts) -> str:
    """Return what happened to an incident in one line."""
    text = _HEADLINES[incident.event]() % {"title": visible(incident.title)}
    return Truncator(text).chars(LONGEST_HEADLINE)


def lines_of(incident: IncidentFacts) -> list[str]:
    """Return what there is to know of an incident beside its headline, a line each."""
    is_begun = incident.event in (Event.OPENED, Event.REPEAT)
    known = Truncator(visible(incident.known)).chars(LONGEST_KNOWN) if is_begun else ""
    lines = [known] if known else []
    lines.append(
        _("Since %(at)s, last at %(last)s.")
        % {"at": timestamps.full(incident.opened_at), "last": timestamps.full(incident.last_at)}
    )
    if incident.processes:
        lines.append(_processes(incident.event, incident.processes))
    if incident.waiting:
        waiting = ngettext("%(n)s step waits.", "%(n)s steps wait.", incident.waiting)
        lines.append(waiting % {"n": _number(incident.waiting)})
    if incident.money is not None:
        lines.append(_("Worth: %(money)s.") % {"money": _number(incident.money)})
    if incident.agent:
        lines.append(_("Agent: %(agent)s.") % {"agent": visible(incident.agent)})
    if incident.remedy and is_begun:
        lines.append(_("What to do: %(remedy)s") % {"remedy": visible(incident.remedy)})
    return lines


def _processes(event: str, count: int) -> str:
    """Say how many processes it is; of an incident that begins only how many it is yet."""
    text = ngettext("%(n)s process", "%(n)s processes", count) % {"n": _number(count)}
    said = _("So far: %(processes)s.") if event == Event.OPENED else _("Now: %(processes)s.")
    return said % {"processes": text}


def _number(value: int | str) -> str:
    return number_format(value, force_grouping=True)


def text(message: IncidentMessage) -> str:
    """Return a message as plain text of several lines."""
    if message.event == Event.TEST:
        return _("Somebody tested this route. Incidents will arrive here.") + "\n"
    incident = message.incident
    if incident is not None:
        parts = [headline_of(incident), "", *lines_of(incident)]
        return "\n".join([*parts, *([incident.url] if incident.url else [])]) + "\n"
    parts = [headline(message), ""]
    for named in message.incidents[:MOST_NAMED]:
        parts += [headline_of(named), *lines_of(named), *([named.url] if named.url else []), ""]
    return "\n".join([*parts, *more(message)]).rstrip() + "\n"


def more(message: IncidentMessage) -> list[str]:
    """Return the line on those incidents that are not named one by one."""
    count = len(message.incidents) - MOST_NAMED
    if count <= 0:
        return []
    return [ngettext("And %(n)d more.", "And %(n)d more.", count) % {"n": count}]
