"""The open incidents as operators read them: what broke, how much of it, and what happens next."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F

from workers.desk.models import Incident
from workers.desk.rules.next_acts import next_act
from workers.desk.texts import alert_texts
from workers.ops import wait_facts
from workers.ops.wait_facts import Situation


@dataclass(frozen=True, slots=True)
class IncidentLine:
    """One incident at one instant, in words."""

    incident: Incident
    title: str
    #: What else is known of the cause; may be empty.
    message: str
    remedy: str
    next_act: str


@dataclass(frozen=True, slots=True)
class OpenIncidents:
    lines: list[IncidentLine]
    now: datetime


def read(limit: int | None = None, situation: Situation | None = None) -> OpenIncidents:
    """Return the unresolved incidents: the gravest first, then the oldest.

    Snoozed ones come last, the next to wake first.  ``situation`` None: it is read.
    """
    rows = Incident.objects.filter(resolved_at=None).select_related("assignee")
    situation = situation or wait_facts.read()
    asleep_last = F("snooze_until").asc(nulls_first=True)
    rows = rows.order_by(asleep_last, "severity", "opened_at")[:limit]
    return OpenIncidents(in_words(rows, situation), situation.now)


def in_words(incidents: Iterable[Incident], situation: Situation) -> list[IncidentLine]:
    """Put incidents into words; a resolved one has no next act."""
    lines = []
    for incident in incidents:
        code, params = incident.code, incident.params
        lines.append(
            IncidentLine(
                incident,
                alert_texts.title(code, params),
                alert_texts.newest_message(code, params),
                alert_texts.remedy(code, params),
                ""
                if incident.resolved_at
                else next_act(code, params, situation.facts.flows, situation.now),
            )
        )
    return lines
