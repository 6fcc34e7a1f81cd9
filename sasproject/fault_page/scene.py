"""What the fault page shows: services, roles, and the incidents that come of it."""

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
from workers.definitions.alert_kinds import alert_kind
from workers.desk.admin.changes import Marker
from workers.desk.operate import incident_list
from workers.models import Incident

#: Time that the sandbox, which runs beside us, has for an answer: a poll waits for it.
SECONDS = 2.0
#: The role that serves the page: who kills it is not answered.
OURS = "web"
OPEN_SHOWN = 10
RESOLVED_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Line:
    """An incident; without a next act where it is resolved."""

    incident: Incident
    title: str
    next_act: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture."""

    now: datetime
    #: Each service with what it does wrong.
    services: list[tuple[str, list[str]]]
    #: Why the services do not say.
    problem: str
    #: Each role with its process ids, its main process first.
    roles: list[tuple[str, list[int]]]
    #: The open ones, and of the resolved the newest; None: not for this user to see.
    incidents: list[Line] | None
    resolved: list[Line] | None

    @property
    def marker(self) -> Marker:
        """Return what tells whether a page that was shown before still shows the same."""
        lines = [*(self.incidents or []), *(self.resolved or [])]
        rows = [
            (line.incident.pk, line.incident.state, line.incident.members, line.next_act)
            for line in lines
        ]
        shown = repr((self.services, self.problem, self.roles, rows))
        return Marker(hashlib.sha256(shown.encode()).hexdigest()[:16], self.now)


def read(*, sees_incidents: bool) -> Scene:
    """Read the picture of this moment."""
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
        in_force = faults.in_force(settings.SANDBOX_URL, seconds=SECONDS)
    except httpx2.HTTPError as error:
        return [], str(error) or type(error).__name__
    return [(service, choices.in_words(in_force[service])) for service in in_force], ""


def _open() -> list[Line]:
    return [
        Line(line.incident, line.title, line.next_act)
        for line in incident_list.read(OPEN_SHOWN).lines
    ]


def _resolved() -> list[Line]:
    rows = Incident.objects.filter(resolved_at__isnull=False).order_by("-resolved_at", "-id")
    return [
        Line(row, alert_kind(row.code).title_with(row.params), "") for row in rows[:RESOLVED_SHOWN]
    ]
