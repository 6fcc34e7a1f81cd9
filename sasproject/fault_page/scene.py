"""The content of the fault page: services, roles and incidents."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import httpx2
from django.conf import settings

from sasproject.demo import faults
from sasproject.fault_page import choices
from sasproject.stack import folder
from workers import database_now
from workers.desk.admin.changes import Marker
from workers.desk.models import Incident
from workers.desk.operate import incident_list
from workers.desk.texts import alert_texts

#: Timeout of the sandbox, for which polls wait.
SECONDS = 2.0
#: The role that serves the page: a request that killed it would get no answer.
OURS = "web"
OPEN_SHOWN = 10
RESOLVED_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Line:
    """An incident; ``next_act`` is empty if it is resolved."""

    incident: Incident
    title: str
    next_act: str


@dataclass(frozen=True, slots=True)
class Scene:
    """The page at one moment."""

    now: datetime
    #: Each service with its faults in words.
    services: list[tuple[str, list[str]]]
    #: Why the faults could not be read; empty: they were.
    problem: str
    #: Each role with its process ids, its main process first.
    roles: list[tuple[str, list[int]]]
    #: The open incidents, and the newest resolved ones; None: the user may not see them.
    incidents: list[Line] | None
    resolved: list[Line] | None

    @property
    def marker(self) -> Marker:
        """Return the marker of the page, by which polls detect a change."""
        lines = [*(self.incidents or []), *(self.resolved or [])]
        rows = [
            (line.incident.pk, line.incident.state, line.incident.members, line.next_act)
            for line in lines
        ]
        content = repr((self.services, self.problem, self.roles, rows))
        return Marker(hashlib.sha256(content.encode()).hexdigest()[:16], self.now)


def read(*, sees_incidents: bool) -> Scene:
    """Read the current scene."""
    services, problem = _services()
    return Scene(
        now=database_now(),
        services=services,
        problem=problem,
        roles=list(roles().items()),
        incidents=_open() if sees_incidents else None,
        resolved=_resolved() if sees_incidents else None,
    )


def roles() -> dict[str, list[int]]:
    """Return the roles of the stack in our run folder."""
    return folder.roles_in(Path(settings.RUN_DIR))


def killable() -> list[str]:
    return [role for role in roles() if role != OURS]


def _services() -> tuple[list[tuple[str, list[str]]], str]:
    try:
        current = faults.read(settings.SANDBOX_URL, seconds=SECONDS)
    except httpx2.HTTPError as error:
        return [], str(error) or type(error).__name__
    return [(service, choices.in_words(current[service])) for service in current], ""


def _open() -> list[Line]:
    return [
        Line(line.incident, line.title, line.next_act)
        for line in incident_list.read(OPEN_SHOWN).lines
    ]


def _resolved() -> list[Line]:
    rows = Incident.objects.filter(resolved_at__isnull=False).order_by("-resolved_at", "-id")
    return [Line(row, alert_texts.title(row.code, row.params), "") for row in rows[:RESOLVED_SHOWN]]
