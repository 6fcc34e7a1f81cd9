"""The text of a message about incidents: pure, from facts to words.

Words are in the active language, instants in the active time zone.
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

#: PagerDuty's names of severities; 1 is the gravest.
SEVERITIES = {1: "critical", 2: "error", 3: "info"}
#: Incidents that a message names one by one; it only counts the others.
MOST_NAMED = 30
#: For a mail's subject, and the line that a phone shows.
LONGEST_HEADLINE = 200
#: For what is known of a cause; the incident's page has all of it.
LONGEST_CAUSE = 500


@dataclass(frozen=True, slots=True)
class IncidentFacts:
    """An incident for a message, already in words; ``event`` is what happened to it."""

    event: str
    key: str
    kind: str
    title: str
    severity: int
    state: str
    agent: str
    #: Number of the processes that it stops; None: it concerns no process, or more than its alerts.
    processes: int | None
    #: Their worth, as a decimal; None: unknown.
    money: str | None
    opened_at: datetime
    last_at: datetime
    #: Steps that wait for its agent; None: it concerns no agent.
    waiting: int | None = None
    #: What its newest alert without a process says of the cause.
    message: str = ""
    remedy: str = ""
    #: The URL of its page; empty: the admin's URL is not set.
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
        """Return the one incident that it is about; None: a digest, or a test."""
        is_single = self.event not in (Event.DIGEST, Event.TEST) and self.incidents
        return self.incidents[0] if is_single else None


_HEADLINES: dict[str, Callable[[], str]] = {
    Event.OPENED: lambda: _("New incident: %(title)s"),
    Event.REPEAT: lambda: _("Still open and not taken: %(title)s"),
    Event.ACKNOWLEDGED: lambda: _("Taken: %(title)s"),
    Event.RESOLVED: lambda: _("Resolved: %(title)s"),
}


def headline(message: IncidentMessage) -> str:
    """Return a message in one line, without characters that would break it."""
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
    """Return the lines on an incident below its headline."""
    is_begun = incident.event in (Event.OPENED, Event.REPEAT)
    cause = Truncator(visible(incident.message)).chars(LONGEST_CAUSE) if is_begun else ""
    lines = [cause] if cause else []
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
    """Return the line on the number of processes, which is still rising for a new incident."""
    text = ngettext("%(n)s process", "%(n)s processes", count) % {"n": _number(count)}
    line = _("So far: %(processes)s.") if event == Event.OPENED else _("Now: %(processes)s.")
    return line % {"processes": text}


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
    for facts in message.incidents[:MOST_NAMED]:
        parts += [headline_of(facts), *lines_of(facts), *([facts.url] if facts.url else []), ""]
    return "\n".join([*parts, *more(message)]).rstrip() + "\n"


def more(message: IncidentMessage) -> list[str]:
    """Return the line on the incidents that are not named one by one, if any."""
    count = len(message.incidents) - MOST_NAMED
    if count <= 0:
        return []
    return [ngettext("And %(n)d more.", "And %(n)d more.", count) % {"n": count}]
